"""torch_npu.dynamo: the backend `npu` of torch.compile, and torchair beside it."""

import sys

import torchair

sys.modules[f"{__name__}.torchair"] = torchair

__all__ = ["torchair"]
