"""Inference with numpy arrays."""
