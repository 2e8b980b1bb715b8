"""Importing this makes a script that was written for cuda run on the NPU."""

from npu.torch_npu.transfer import install

install()
