"""Element by element: arithmetic, comparison, logic, casts."""

from __future__ import annotations

from npu.ops.kernel import vector
from npu.ops.node import Lower, Lowered, Node

# ONNX operator -> operator type as profiles name it
ARITHMETIC = {
    "Add": "Add",
    "Sub": "Sub",
    "Mul": "Mul",
    "Div": "RealDiv",
    "Pow": "Pow",
    "Mod": "FloorMod",
    "Max": "Maximum",
    "Min": "Minimum",
    "Abs": "Abs",
    "Neg": "Neg",
    "Reciprocal": "Reciprocal",
    "Sqrt": "Sqrt",
    "Exp": "Exp",
    "Log": "Log",
    "Ceil": "Ceil",
    "Floor": "Floor",
    "Round": "Rint",
    "Sign": "Sign",
    "Erf": "Erf",
    "Sin": "Sin",
    "Cos": "Cos",
    "Tan": "Tan",
    "Asin": "Asin",
    "Acos": "Acos",
    "Atan": "Atan",
    "Sinh": "Sinh",
    "Cosh": "Cosh",
    "Asinh": "Asinh",
    "Acosh": "Acosh",
    "Atanh": "Atanh",
    "Clip": "ClipByValue",
    "IsNaN": "IsNan",
    "IsInf": "IsInf",
    "BitShift": "LeftShift",
    "BitwiseAnd": "BitwiseAnd",
    "BitwiseOr": "BitwiseOr",
    "BitwiseXor": "BitwiseXor",
    "BitwiseNot": "Invert",
    "And": "LogicalAnd",
    "Or": "LogicalOr",
    "Xor": "LogicalXor",
    "Not": "LogicalNot",
    "Equal": "Equal",
    "Greater": "Greater",
    "GreaterOrEqual": "GreaterEqual",
    "Less": "Less",
    "LessOrEqual": "LessEqual",
    "RotaryEmbedding": "RotaryPositionEmbedding",
}
# These take 64-bit integers on the vector cores: nothing is computed.
SELECTING = {"Cast": "Cast", "CastLike": "Cast", "Where": "SelectV2", "Dropout": "DropOutDoMask", "BitCast": "Bitcast"}


def arithmetic(node: Node) -> Lowered:
    name = ARITHMETIC[node.op_type]
    if node.op_type == "BitShift" and node.text("direction", "LEFT") == "RIGHT":
        name = "RightShift"
    return vector(node, name)


def selecting(node: Node) -> Lowered:
    return vector(node, SELECTING[node.op_type], arithmetic=False)


def total(node: Node) -> Lowered:
    """Sum and Mean of any number of inputs: two are an Add, more one AddN."""
    return vector(node, "Add" if len(node.given) <= 2 and node.op_type == "Sum" else "AddN")


def dropout(node: Node) -> Lowered | None:
    """At inference a copy of its input, so no kernel; with training_mode given it draws a mask."""
    return selecting(node) if len(node.given) > 2 else None


OPS: dict[str, Lower] = {
    **dict.fromkeys(ARITHMETIC, arithmetic),
    **dict.fromkeys(SELECTING, selecting),
    "Sum": total,
    "Mean": total,
    "Dropout": dropout,
}
