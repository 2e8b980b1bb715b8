"""ATen operators as nodes of ONNX, a family a module; a rule answers False where a form of its operator has none."""
