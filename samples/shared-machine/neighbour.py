"""Somebody else on the same machine: holds GIB of device 0 until its input ends. Says "holding" once it has them."""

import sys

import acl

GIB = int(sys.argv[1])
acl.init()
acl.rt.set_device(0)
pointer, ret = acl.rt.malloc(GIB << 30, 0)
if ret != 0:
    print(f"neighbour: {GIB} GiB refused, error code {ret}: {acl.get_recent_err_msg()}", flush=True)
    pointer, ret = acl.rt.malloc(1 << 30, 0)
print("holding", flush=True)
sys.stdin.read()
