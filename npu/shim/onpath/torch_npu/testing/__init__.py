"""torch_npu.testing: helpers for tests of operators."""
