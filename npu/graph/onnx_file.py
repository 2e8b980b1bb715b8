"""Reading an ONNX file: its protobuf, the weights beside it, and what a file that is no model seems to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npu.graph import light_file, weights
from npu.graph.errors import AtcError
from npu.om import MAX_BYTES

BESIDE = "The model keeps weights in a file of their own: copy that file beside the model, under the same name."
INSIDE = "The file of the weights must lie in the model's folder: save the model again with a plain file name as its location."
# first bytes of files that are often given instead of a model -> what they are and what to do
OTHERS = (
    (b"PK\x03\x04", "It is a zip archive, as a PyTorch checkpoint (.pt, .pth) is: export the model with torch.onnx.export."),
    (b"version https://git-lfs", "It is a Git LFS pointer, not the file itself: fetch it with git lfs pull."),
    (b"<", "It is a web page or XML, not a model: download the file again."),
)


def read(path: Path, large: weights.Weights | None = None) -> Any:
    """The ModelProto of a file. AtcError E13001, E13003, E13005, E13023. large: takes the data of the large weights, without
    which the model is read then."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from onnx import ModelProto
    from onnx.checker import ValidationError
    from onnx.external_data_helper import load_external_data_for_model

    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise AtcError("E13023", item="model file", size=size, maxsize=MAX_BYTES)
        if not size:
            raise AtcError("E13005", file=path, more=("The file is empty (0 bytes): export or copy it again.",))
        data = _data(path, large)
    except FileNotFoundError:
        raise AtcError("E13001", file=path, errmsg="No such file or directory") from None
    except OSError as error:
        raise AtcError("E13003", file=path, errmsg=error.strerror) from error
    proto = ModelProto()
    try:
        proto.ParseFromString(data)
        load_external_data_for_model(proto, str(path.parent))
    except (DecodeError, UnicodeDecodeError) as error:
        raise AtcError("E13005", file=path, more=(str(error), *other_file(data))) from error
    except ValidationError as error:  # the helper's word for a file of weights that is not there, or not where it may be
        next_step = INSIDE if "outside" in str(error) else BESIDE
        raise AtcError("E10041", parameter=path, more=(f"external data: {error}", next_step)) from error
    except (OSError, ValueError, TypeError) as error:
        raise AtcError("E10041", parameter=path, more=(f"external data: {error}",)) from error
    return proto


def _data(path: Path, large: weights.Weights | None) -> bytes:
    if large is None:
        return path.read_bytes()
    try:
        data, cut = light_file.split(path)
    except (ValueError, IndexError):  # the parser has the words for what is wrong
        return path.read_bytes()
    large |= cut
    return data


def other_file(data: bytes) -> tuple[str, ...]:
    """What a file that is no model seems to be; nothing where its first bytes do not say."""
    return tuple(said for begin, said in OTHERS if data.lstrip()[:64].startswith(begin))
