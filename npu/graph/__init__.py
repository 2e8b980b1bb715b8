"""The graph engine: ONNX in, .om out."""
