"""Tests for several types and formats."""

from npu.torch_npu.testing_tools import Dtypes, Formats, instantiate_tests

__all__ = ["Dtypes", "Formats", "instantiate_tests"]
