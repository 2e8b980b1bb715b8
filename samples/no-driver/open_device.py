"""The smallest program: initialise, count the devices, open device 0."""

import sys

import acl

print("acl.init", acl.init())
print("acl.rt.get_device_count", acl.rt.get_device_count())
code = acl.rt.set_device(0)
print("acl.rt.set_device(0)", code)
if code != 0:
    print(acl.get_recent_err_msg())
acl.finalize()
sys.exit(code != 0)
