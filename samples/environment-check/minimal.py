"""Open device 0 and print it."""

import sys

import acl

codes = [acl.init(), acl.rt.set_device(0)]
device, code = acl.rt.get_device()
print(f"device {device}, soc {acl.get_soc_name()}, codes {[*codes, code]}")
acl.rt.reset_device(0)
acl.finalize()
sys.exit(any([*codes, code]))
