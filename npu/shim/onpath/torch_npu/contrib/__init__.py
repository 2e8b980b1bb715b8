"""What stands beside the framework: transfer_to_npu."""
