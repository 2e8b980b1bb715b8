"""The digests of a model file: the key of its arithmetic, and the seal that tells whether it was changed after atc wrote it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from npu.om.metadata import PREFIX

# The seal is the last metadata entry of the file, "npu.sha256" with the digest of all bytes before it. Its length is fixed.
_SEAL_KEY = (PREFIX + "sha256").encode()
_SEAL_HEAD = b"\x72\x4e\x0a" + bytes([len(_SEAL_KEY)]) + _SEAL_KEY + b"\x12\x40"  # field 14, entry of 78 bytes, key, value of 64
_SEAL_LENGTH = len(_SEAL_HEAD) + 64


def digest(path: str | Path) -> str:
    """SHA-256 of a file: the key of the arithmetic cache."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def seal(data: bytes) -> bytes:
    """The bytes of a finished model with its digest appended as one more metadata entry (still a valid protobuf)."""
    return data + seal_of(hashlib.sha256(data).hexdigest())


def seal_of(digest: str) -> bytes:
    """What seal() appends to a file of that SHA-256."""
    return _SEAL_HEAD + digest.encode()


def intact(data: bytes) -> bool:
    """False when a sealed model was changed after it was written. A file without a seal (plain ONNX) is intact."""
    if data[-_SEAL_LENGTH:-64] != _SEAL_HEAD:
        return _SEAL_HEAD not in data
    return data[-64:] == hashlib.sha256(memoryview(data)[:-_SEAL_LENGTH]).hexdigest().encode()
