"""Runs one after another: over files whose outputs become files, and over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from npu.shim.aclruntime.facts import infer_options, tensor_desc
from npu.shim.aclruntime.kinds import NAMES
from npu.shim.aclruntime.tensors import BaseTensor, Tensor

PURE_INFER_DATA = "pure_infer_data"  # in place of a file: no file at all, made-up values
PURE_INFER_DATA_ZERO = "pure_infer_data_zero"
PURE_INFER_DATA_RANDOM = "pure_infer_data_random"
MADE_UP = (PURE_INFER_DATA, PURE_INFER_DATA_ZERO, PURE_INFER_DATA_RANDOM)


class Session(Protocol):
    def get_inputs(self) -> list[tensor_desc]: ...
    def run(self, out_names: Sequence[str], feeds: Any) -> list[Tensor]: ...
    def set_dynamic_shape(self, text: str) -> None: ...
    def set_dynamic_dims(self, text: str) -> None: ...


def run_arrays(
    session: Session, out_names: Sequence[str], runs: Sequence[Sequence[BaseTensor]], shapes: Sequence[Sequence[Sequence[int]]],
    auto_shape: bool, auto_dims: bool,
) -> list[list[Tensor]]:  # fmt: skip
    """The outputs of each run, on the host."""
    results = []
    for feeds, given in zip(runs, shapes, strict=True):
        _tell(session, given, auto_shape, auto_dims)
        outputs = session.run(out_names, list(feeds))
        for output in outputs:
            output.to_host()
        results.append(outputs)
    return results


def run_files(session: Session, runs: Sequence[Sequence[str]], options: infer_options, more: Sequence[Session] = ()) -> None:
    """Each run reads a file an input and writes one an output, named after the first file of the run. The sessions take turns.

    OSError for files that cannot be read; RuntimeError when their bytes do not fit."""
    sessions = [session, *more]
    for number, files in enumerate(runs):
        one = sessions[number % len(sessions)]
        inputs = one.get_inputs()
        arrays = [_read(f, d) for f, d in zip(files, inputs, strict=True)]
        _tell(one, [a.shape for a in arrays], options.auto_dym_shape, options.auto_dym_dims)
        outputs = one.run(options.output_names, [Tensor(a) for a in arrays])
        for place, output in enumerate(outputs):
            output.to_host()
            if options.output_dir and not options.pure_infer_mode:
                stem = f"pure_infer_data_{number}" if files[0] in MADE_UP else Path(files[0]).stem
                _write(Path(options.output_dir) / f"{stem}_{place}", options.out_format, np.array(output))


def _tell(session: Session, shapes: Sequence[Sequence[int]], auto_shape: bool, auto_dims: bool) -> None:
    if auto_shape or auto_dims:
        inputs = session.get_inputs()
        text = ";".join(f"{d.name}:{','.join(map(str, s))}" for d, s in zip(inputs, shapes, strict=True))
        (session.set_dynamic_shape if auto_shape else session.set_dynamic_dims)(text)


def _read(file: str, desc: tensor_desc) -> Any:
    kind = np.dtype(NAMES[desc.datatype])
    if file in MADE_UP:
        shape = [max(1, d) for d in desc.shape]
        random = file == PURE_INFER_DATA_RANDOM
        return np.random.default_rng(0).integers(0, 255, shape).astype(kind) if random else np.zeros(shape, kind)
    if file.endswith(".npy"):
        return np.load(file)
    flat = np.fromfile(file, kind)
    return flat.reshape(desc.shape) if min(desc.shape, default=0) >= 0 and flat.size == desc.size else flat


def _write(path: Path, form: str, array: Any) -> None:
    if form == "NPY":
        np.save(path.with_name(path.name + ".npy"), array)
    elif form == "TXT":
        np.savetxt(path.with_name(path.name + ".txt"), np.atleast_1d(array.reshape(-1, array.shape[-1] if array.ndim else 1)))
    else:
        array.tofile(path.with_name(path.name + ".bin"))
