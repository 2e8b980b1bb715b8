"""Operators of the domain com.microsoft, as onnxruntime's quantiser and optimiser write them into models."""
