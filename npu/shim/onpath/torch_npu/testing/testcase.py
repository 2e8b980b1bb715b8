"""The test case of torch_npu.testing."""

from npu.torch_npu.testing_case import TestCase, run_tests

__all__ = ["TestCase", "run_tests"]
