"""Graph mode: torch.compile(backend="npu"). A compiled graph is one launch, fused and planned by the graph engine."""
