"""Operators written as what they compute and, apart from that, how: npu.tbe.dsl, create_schedule or auto_schedule, build."""

from npu.tbe import dsl
from npu.tbe.custom_opp import operator
from npu.tbe.kernel import Kernel, build
from npu.tbe.limits import TbeError
from npu.tbe.plan import auto_schedule
from npu.tbe.schedule import Schedule, create_schedule
from npu.tbe.tensor import Tensor, placeholder

__all__ = [
    "Kernel", "Schedule", "TbeError", "Tensor", "auto_schedule", "build", "create_schedule", "dsl", "operator", "placeholder",
]  # fmt: skip
