"""The same as main.py, mended: looks which devices have room before it takes two."""

import sys

import acl

WANTED = 20 << 30
ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_HBM_MEM = 1


def check(ret, what):
    if ret != 0:
        raise SystemExit(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def devices():
    """The two devices with the most free memory, among those that have enough."""
    count, ret = acl.rt.get_device_count()
    check(ret, "get_device_count")
    room = {}
    for device in range(count):
        check(acl.rt.set_device(device), f"set_device({device})")
        free, _total, ret = acl.rt.get_mem_info(ACL_HBM_MEM)
        check(ret, "get_mem_info")
        if free >= WANTED:
            room[device] = free
        check(acl.rt.reset_device(device), "reset_device")
    chosen = sorted(room, key=lambda device: (-room[device], device))[:2]
    if len(chosen) < 2:
        raise SystemExit(f"only {len(chosen)} of {count} devices have {WANTED >> 30} GiB free: wait, or ask for less")
    return chosen


def main():
    check(acl.init(), "acl.init")
    count, ret = acl.rt.get_device_count()
    check(ret, "get_device_count")
    print(f"{count} devices to be seen")
    for device in devices():
        check(acl.rt.set_device(device), f"set_device({device})")
        _pointer, ret = acl.rt.malloc(WANTED, ACL_MEM_MALLOC_HUGE_FIRST)
        check(ret, f"malloc on device {device}")
        print(f"device {device}: {WANTED >> 30} GiB")
    check(acl.finalize(), "finalize")


if __name__ == "__main__":
    sys.exit(main())
