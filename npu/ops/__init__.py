"""The built-in operator library: what kernel an ONNX node becomes, the Work that kernel has, and the arithmetic."""
