"""Tuned schedules: the cost follows them, the search never makes a kernel slower, the bank gives back what it was given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npu import om
from npu.cost import Work, kernel
from npu.cost.scheduled import kernel_us
from npu.cost.schedules import best, choices
from npu.cost.work import scaled
from npu.graph import bank, tune
from npu.graph.errors import AtcError
from npu.om import Kernel
from npu.soc import find
from tests.made_onnx import convert, model, node

B3, A310 = find("Ascend910B3"), find("Ascend310P3")
PRODUCT = Work("matmul", "MatMulV2", "float16", (1, 512, 1024, 4096), 2 * (512 + 1024) * 4096, 2 * 512 * 1024)
ADD = Work("vector", "Add", "float16", (65536, 1), 4 * 65536, 2 * 65536)


def test_a_tuned_product_takes_the_tile_it_was_given():
    # one block of 128 x 256 in each of 4 x 4 places on 16 of 20 cores; K split in two makes 32 blocks, two rounds
    one, two = (kernel(replace(PRODUCT, schedule=(128, 256, split)), B3) for split in (1, 2))
    assert (one.block_dim, two.block_dim) == (16, 20)
    assert kernel(PRODUCT, B3).duration <= one.duration < two.duration


def test_a_tuned_vector_kernel_uses_more_cores_for_smaller_blocks():
    small = replace(ADD, dims=(8192, 1), read_bytes=32768, write_bytes=16384)
    # cores follow one tensor in and one out: 32 KiB in blocks of 8 KiB are 4 cores, in blocks of 2 KiB 16
    assert [kernel(replace(small, schedule=s), B3).block_dim for s in ((), (8192,), (2048,))] == [4, 4, 16]


@pytest.mark.parametrize("schedule", [(128, 256), (0, 16, 1), (16, 16, 1, 1)])
def test_a_schedule_that_does_not_fit_its_form_is_refused(schedule):
    with pytest.raises(ValueError, match="schedule"):
        kernel(replace(PRODUCT, schedule=schedule), B3)


works = st.one_of(
    st.builds(
        lambda b, m, n, k: Work("matmul", "MatMulV2", "float16", (b, m, n, k), 2 * b * (m * k + k * n), 2 * b * m * n),
        st.integers(1, 8), st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 9000)),
    st.builds(
        lambda form, op, e, r: Work(form, op, "float16", (e * r, r), 4 * e * r, 2 * e * r),
        st.sampled_from(("vector", "row", "layout", "fill")), st.sampled_from(("Add", "SoftmaxV2", "Transpose", "Fill", "Exp")),
        st.integers(1, 5000), st.integers(1, 500)),
)


@settings(max_examples=30, deadline=None)
@given(works, st.sampled_from((B3, A310)))
def test_tuning_never_makes_a_kernel_slower(work, chip):
    found = best(work, chip)
    assert kernel(found, chip).duration <= kernel(work, chip).duration
    assert replace(found, schedule=()) == work
    assert best(found, chip) == found  # the best one has no better


def test_tiles_fit_the_accumulator():
    assert all(bm * bn * 4 <= B3.l0c and bm % 16 == bn % 16 == 0 for bm, bn, _ in choices(PRODUCT, B3))


def test_attention_has_one_schedule():
    work = Work("attention", "FusedInferAttentionScore", "float16", (1, 8, 128, 128, 64), 1 << 20, 1 << 18)
    assert not list(choices(work, B3)) and best(work, B3) is work


def test_another_size_is_another_kernel():
    tuned = replace(ADD, schedule=(1024,))
    assert scaled(tuned, 1) is tuned and scaled(tuned, 2).schedule == ()


def test_two_buffers_overlap():
    # three tiles of 10 + 20 + 5 cycles: 105 one after another, 35 + 2 * 20 = 75 with two buffers; at 1.8 GHz, plus 1.05 us
    engines = (10_000, 20_000, 5_000)
    assert kernel_us(engines, 3, False, 32, B3) == pytest.approx(1.05 + 105 / B3.cube_mhz)
    assert kernel_us(engines, 3, True, 32, B3) == pytest.approx(1.05 + 75 / B3.cube_mhz)


def planned(work: Work = ADD, name: str = "add") -> Kernel:
    return Kernel(name, "Add", work, "65536;65536", "FLOAT16;FLOAT16", "ND;ND", "65536", "FLOAT16", "ND")


def test_a_bank_gives_back_what_was_written(tmp_path):
    made = tune.tune([planned(), planned(name="again")], B3, bank.EMPTY)
    (change,) = made.changes
    assert (change.mode, change.count, made.kept, made.hits) == ("add", 2, 0, 0) and change.after < change.before
    bank.write(tmp_path / bank.FILE, B3.name, made.entries)
    held = bank.found_for(tmp_path, B3.name)
    assert dict(held.entries) == dict(made.entries)
    tuned = held.scheduled(planned(name="elsewhere"))
    assert kernel(tuned.work, B3).duration == change.after
    assert held.scheduled(planned(replace(ADD, epilogue=1))).work.schedule == ()  # another kernel
    second = tune.tune([tuned], B3, held)
    assert (second.changes, second.hits, dict(second.entries)) == ((), 1, dict(made.entries))


def test_an_entry_that_is_not_faster_any_more_is_not_used(tmp_path):
    slow = bank.Bank(B3, {bank.key(planned()): bank.Entry((1 << 20,), 1)})  # one core
    assert slow.scheduled(planned()).work.schedule == ()
    assert tune.tune([planned()], B3, slow).changes[0].mode == "update"


@pytest.mark.parametrize("text, reason", [
    ("{", "no JSON"), ("[]", "not an operator bank"), ('{"version": 2, "soc": "Ascend910B3", "entries": []}', "version 2"),
    ('{"version": 1, "soc": "Ascend310", "entries": []}', "not for Ascend910B3"),
    ('{"version": 1, "soc": "Ascend910B3", "entries": [{}]}', "damaged"), ('{"version": 1, "soc": "Ascend910B3", "entries": 3}', "damaged"),
    ("[" * 100000, "no JSON"),
])
def test_a_damaged_bank_is_named(tmp_path, text, reason):
    (tmp_path / bank.FILE).write_text(text)
    with pytest.raises(AtcError) as refused:
        bank.found_for(tmp_path, "Ascend910B3")
    assert refused.value.code == "E21002" and reason in refused.value.message


def test_an_endless_number_is_damage(tmp_path):
    entry = dict(zip((*bank._TEXTS, *bank._WORK), bank.key(planned()), strict=True)) | {"schedule": [1024], "ns": float("inf")}
    (tmp_path / bank.FILE).write_text(json.dumps({"version": 1, "soc": B3.name, "entries": [entry]}))
    with pytest.raises(bank.BadBank, match="damaged"):
        bank.read(tmp_path / bank.FILE, B3.name)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from((*bank._TEXTS, *bank._WORK, "schedule", "ns")), inner),
    max_leaves=12)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from((*bank._TEXTS, *bank._WORK, "schedule", "ns")), json_values, max_size=16))
def test_any_entry_is_read_or_named(tmp_path_factory, changes):
    good = dict(zip((*bank._TEXTS, *bank._WORK), bank.key(planned()), strict=True)) | {"schedule": [1024], "ns": 1500}
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps({"version": 1, "soc": "Ascend910B3", "entries": [good | changes]}))
    try:
        held = bank.read(path, "Ascend910B3")
    except bank.BadBank as refused:
        assert refused.reason
    else:
        tune.tune([planned()], B3, held)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 1 << 60), min_size=7, max_size=7), st.integers(0, 1 << 40))
def test_any_scheduled_work_has_a_cost(dims, moved):
    found = kernel(Work("scheduled", "Own", "float16", tuple(dims), moved, 0), B3)
    assert found.duration >= 1050 and 1 <= found.block_dim <= B3.aiv and found.aiv_vec <= found.aiv_time


def test_the_place_of_the_bank():
    assert bank.folder("X", {"HOME": "/h"}) == Path("/h/Ascend/latest/data/aoe/custom/op/X")
    assert bank.folder("X", {"HOME": "/h", "ASCEND_CACHE_PATH": "/c"}) == Path("/c/op/X")
    assert bank.folder("X", {"ASCEND_CACHE_PATH": "/c", "TUNE_BANK_PATH": "/t"}) == Path("/t/op/X")
    with pytest.raises(AtcError):
        bank.found_for(Path("/nowhere"), "Ascend910B3")


def test_the_om_carries_the_schedule(tmp_path, monkeypatch):
    monkeypatch.setenv("TUNE_BANK_PATH", str(tmp_path))
    made = model([node("Sigmoid", "x", "y")], "y", {}, {"x": [1, 65536]}, types={"x": 10, "y": 10})
    plain = om.load(convert(made, tmp_path).path)
    assert "work_schedule" not in om.to_metadata(plain)["npu.plan"]
    found = tune.tune(plain.kernels, B3, bank.EMPTY)
    assert found.changes
    bank.write(bank.folder(B3.name) / bank.FILE, B3.name, found.entries)
    tuned = om.load(convert(made, tmp_path).path)
    (k,) = tuned.kernels
    assert k.work.schedule and kernel(k.work, B3).duration == found.changes[0].after
    elsewhere = tmp_path / "other"
    bank.write(elsewhere / bank.FILE, B3.name, {})
    assert om.load(convert(made, tmp_path, op_bank_path=str(elsewhere)).path).kernels[0].work.schedule == ()


def test_a_damaged_schedule_in_an_om_is_refused():
    meta = om.to_metadata(om.Model("Ascend910B3", {}, (), (), (planned(replace(ADD, schedule=(1024,))),)))
    assert om.from_metadata(meta).kernels[0].work.schedule == (1024,)
    for bad in ([[0]], [[1, 2]], [["x"]], [], [[1 << 61]], [[float("inf")]], [3]):
        plan = json.loads(meta["npu.plan"])
        plan["tasks"]["work_schedule"] = bad
        with pytest.raises(om.BadModel):
            om.from_metadata(meta | {"npu.plan": json.dumps(plan)})
