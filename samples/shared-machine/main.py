"""A job of two devices with 20 GiB on each. Takes the first two, whoever is on them."""

import sys

import acl

WANTED = 20 << 30
ACL_MEM_MALLOC_HUGE_FIRST = 0


def check(ret, what):
    if ret != 0:
        raise SystemExit(f"{what} failed, error code {ret}: {acl.get_recent_err_msg()}")


def devices():
    """The devices to work on."""
    return [0, 1]


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
