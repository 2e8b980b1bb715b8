"""Control flow, sequences, texts, signal transforms: the AI CPU decides or computes."""

from __future__ import annotations

from npu.ops.kernel import aicpu
from npu.ops.node import Lower, Lowered, Node

NAMES = {
    "If": "If",
    "Loop": "While",
    "Scan": "While",
    "SequenceMap": "While",
    "SequenceAt": "SequenceAt",
    "SequenceConstruct": "SequenceConstruct",
    "SequenceEmpty": "SequenceEmpty",
    "SequenceErase": "SequenceErase",
    "SequenceInsert": "SequenceInsert",
    "SequenceLength": "SequenceLength",
    "SplitToSequence": "SplitToSequence",
    "ConcatFromSequence": "SequenceConcat",
    "StringConcat": "StringJoin",
    "StringNormalizer": "StringNormalizer",
    "StringSplit": "StringSplit",
    "RegexFullMatch": "StaticRegexFullMatch",
    "ImageDecoder": "DecodeImage",
    "DFT": "FFT",
    "STFT": "STFT",
}


def control(node: Node) -> Lowered:
    return aicpu(node, NAMES[node.op_type])


OPS: dict[str, Lower] = dict.fromkeys(NAMES, control)
