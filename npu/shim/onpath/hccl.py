"""The module that unmodified scripts import as `hccl`: the C library's names in Python."""

from npu.acl.hccl import install

install(__name__)
