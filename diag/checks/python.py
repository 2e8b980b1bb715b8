"""Python packages: torch_npu with torch and CANN, vllm-ascend and MindSpore with theirs, all with the Python version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from diag.checks import facts
from diag.seen import Seen
from diag.verdict import ERROR, INFO, WARNING, Verdict
from npu.host import compat
from npu.host.versions import key, meets

NUMPY_1_LAST = "8.2"  # the last CANN whose users had to pin numpy<2 (vllm-ascend issue 2210)


def pairings(seen: Seen) -> Iterator[Verdict]:
    """Versions of frameworks and their adapters that do not go together, or not with CANN or Python."""
    have = {name.replace("_", "-"): version for name, version in (seen.host.packages or {}).items()}
    install = facts.active(seen)
    cann = install.version if install is not None else ""
    yield from _torch(have, cann)
    yield from _vllm(have, cann, seen.host.python or "")
    yield from _mindspore(have, cann)
    yield from _python(have, seen.host.python or "")
    yield from _numpy(have, cann)


def _torch(have: Mapping[str, str], cann: str) -> Iterator[Verdict]:
    torch, adapter = have.get("torch", ""), have.get("torch-npu", "")
    if torch and not adapter and "mindspore" not in have and ("vllm-ascend" in have or cann):
        yield Verdict("torch_npu_missing", INFO, {"torch": torch}, ("pip",))
    if not adapter:
        return
    wanted = compat.pairs("torch_npu", adapter, "torch") or (_base(adapter),)
    if torch and not any(compat.same(compat.public(torch), w) for w in wanted):
        yield Verdict("torch_for_other_adapter", ERROR, {"torch": torch, "adapter": adapter, "wanted": wanted[0]}, ("pip",))
    paired = compat.pairs("torch_npu", adapter, "CANN")
    if not cann or not paired or any(compat.same(cann, p) for p in paired):
        return
    choices = [v for v in compat.partners("torch_npu", "CANN", cann) if _base(v) == _base(adapter)]
    known = {
        "adapter": adapter,
        "cann": cann,
        "paired": ", ".join(paired),
        "choice": choices[0] if choices else next(iter(compat.partners("torch_npu", "CANN", cann)), "?"),
    }
    if compat.adapter_accepts(adapter, cann):
        yield Verdict("torch_npu_compatible", INFO, known, ("pip",))
    else:
        yield Verdict("torch_npu_mismatch", WARNING, known, ("pip",))


def _vllm(have: Mapping[str, str], cann: str, python: str) -> Iterator[Verdict]:
    version = have.get("vllm-ascend", "")
    for name, right, installed in (
        ("vllm", "vllm", have.get("vllm", "")),
        ("torch", "torch", have.get("torch", "")),
        ("torch_npu", "torch_npu", have.get("torch-npu", "")),
        ("CANN", "CANN", cann),
    ):
        wanted = compat.pairs("vllm-ascend", version, right) if version else ()
        spelled = [w.removeprefix("v") for text in wanted for w in text.split("/")]
        if installed and spelled and not any(compat.same(compat.public(installed), compat.public(w)) for w in spelled):
            yield Verdict(
                "vllm_ascend_mismatch",
                WARNING,
                {"version": version, "name": name, "have": installed, "wanted": spelled[0]},
                ("pip",),
            )
    ranges = compat.pairs("vllm-ascend", version, "python") if version and python else ()
    if ranges and not meets(python, ranges[0]):
        yield Verdict(
            "python_not_supported",
            WARNING,
            {"python": python, "name": f"vllm-ascend {version}", "wanted": ranges[0]},
            ("python",),
        )


def _mindspore(have: Mapping[str, str], cann: str) -> Iterator[Verdict]:
    version = have.get("mindspore", "")
    paired = compat.pairs("mindspore", version, "CANN") if version else ()
    if cann and paired and not any(compat.same(cann, p) for p in paired):
        yield Verdict("mindspore_mismatch", WARNING, {"version": version, "cann": cann, "paired": ", ".join(paired)}, ("pip",))


def _python(have: Mapping[str, str], python: str) -> Iterator[Verdict]:
    torch = compat.public(have.get("torch", ""))
    known = compat.pairs("torch", torch, "python") if torch and "torch-npu" in have else ()
    if python and known and not any(key(python)[:2] == key(k)[:2] for k in known):
        yield Verdict(
            "python_not_supported", WARNING, {"python": python, "name": f"torch {torch}", "wanted": ", ".join(known)}, ("python",)
        )


def _numpy(have: Mapping[str, str], cann: str) -> Iterator[Verdict]:
    """NumPy 2 has lost names that the operator compiler of CANN up to NUMPY_1_LAST uses."""
    numpy, adapter = have.get("numpy", ""), have.get("torch-npu", "")
    release = cann or next(iter(compat.pairs("torch_npu", adapter, "CANN")), "") if adapter else cann
    if numpy and release and key(numpy)[:1] >= key("2")[:1] and key(release)[:2] <= key(NUMPY_1_LAST)[:2]:
        yield Verdict("numpy_too_new", WARNING, {"numpy": numpy, "cann": release}, ("pip",))


def _base(version: str) -> str:
    """2.7.1.post2 -> 2.7.1"""
    return compat.public(version).partition(".post")[0].partition("rc")[0]
