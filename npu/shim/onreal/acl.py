"""The module that scripts import as `acl` under `msprof run` on a machine with a real NPU: it becomes the real one."""

from npu.shim.wrap_real import install

install(__name__)
