"""com.microsoft for onnx: its checker and shape inference learn the supported operators of that domain."""
