"""PyTorch on the simulated NPU: the device `npu` as torch's PrivateUse1 backend, in pure Python over host memory."""
