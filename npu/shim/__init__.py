"""The importable names of the simulated stack (acl, later hccl, mstx, torch_npu) and what the launchers set for them."""
