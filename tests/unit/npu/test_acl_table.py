"""The facade as a whole: every name of the public surface is there, checks its arguments and answers in its shape."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from npu.acl import install
from npu.acl.convert import signature
from npu.acl.table import Function, table
from npu.errors import SITUATIONS, code_of
from npu.runtime import process as processes

NAMES = Path(__file__).parents[2].joinpath("data/pyacl-names.txt").read_text(encoding="utf-8").split()
BY_NAME = {f.name: f for f in table()}
# letter -> an argument that converts and means nothing
NOTHING = {"p": 0, "z": 0, "U": 0, "q": 0, "i": 0, "u": 0, "f": 0.0, "s": "", "l": [], "L": [], "N": [], "S": [], "a": [],
           "e": [], "t": (), "d": {}, "c": print, "o": None, "b": b""}  # fmt: skip
# These do not answer at once or work on the interpreter's own objects: scripts test them.
NOT_CALLED = {"util.start_thread", "util.stop_thread", "util.bytes_to_ptr", "util.ptr_to_bytes", "util.numpy_to_ptr",
              "util.numpy_contiguous_to_ptr", "util.ptr_to_numpy"}  # fmt: skip


@pytest.fixture(scope="module")
def filled() -> Iterator[ModuleType]:
    """A module filled as the shim fills `acl`."""
    made = ModuleType("acl_under_test")
    sys.modules[made.__name__] = made
    install.install(made.__name__)
    yield made
    for name in [n for n in sys.modules if n.startswith(made.__name__)]:
        del sys.modules[name]


@pytest.fixture
def acl(filled, monkeypatch, tmp_path) -> ModuleType:
    """That module over a process state of its own."""
    monkeypatch.setenv("NPU_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("NPU_CLOCK", "model")
    monkeypatch.delenv("NPU_SINK", raising=False)
    monkeypatch.setattr(processes, "running", None)
    return filled


def called(acl: ModuleType, name: str):
    thing = acl
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


def arguments(function: Function) -> list[object]:
    return [] if function.args in ("-", "*") else [NOTHING[c] for c in function.args.replace("?", "")]


def test_the_table_is_the_public_surface():
    assert sorted(BY_NAME) == sorted(NAMES)
    assert len(BY_NAME) == len(table())
    counts = {
        group: sum(n.startswith(group + ".") for n in NAMES) for group in ("rt", "mdl", "op", "blas", "prof", "media", "util")
    }
    assert sum("." not in n for n in NAMES) == 47 and counts["util"] == 7 and counts["blas"] == 12


def test_every_function_has_one_body_or_one_refusal():
    bodies = install.bodies()
    assert not set(bodies) - set(BY_NAME)
    for function in table():
        assert (function.name in bodies) != bool(function.refused), function.name
        assert function.refused in SITUATIONS or not function.refused


def test_submodules_are_modules_and_constants_are_not_there(acl):
    for group in ("rt", "mdl", "op", "blas", "prof", "media", "himpi", "fv", "util"):
        assert isinstance(getattr(acl, group), ModuleType)
    assert not [n for n in dir(acl) if n.isupper()]
    assert not any(hasattr(acl, n) for n in ("tdt", "mstx", "dump", "grph", "dvpp"))


@pytest.mark.parametrize("name", [n for n in NAMES if BY_NAME[n].args not in ("-", "*") and set(BY_NAME[n].args) - set("ob?")])
def test_wrong_arguments_are_a_type_error_with_the_full_name(acl, name):
    function = BY_NAME[name]
    wanted = signature(function.args)[1]
    with pytest.raises(TypeError, match=rf"acl\.{name} args parse failed|argument \d+ is not list"):
        called(acl, name)(*[object()] * max(wanted, 1))
    with pytest.raises(TypeError, match=rf"acl\.{name} args parse failed"):
        called(acl, name)(*[0] * 40)
    with pytest.raises(TypeError):
        called(acl, name)(a=0)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in NOT_CALLED])
def test_answers_have_their_shape_even_when_nothing_is_set_up(acl, name):
    function = BY_NAME[name]
    answer = called(acl, name)(*arguments(function))
    if function.returns == "ret":
        assert type(answer) is int
    elif function.returns == "none":
        assert answer is None
    elif function.returns.startswith("bare"):
        assert not isinstance(answer, tuple)
    else:
        assert isinstance(answer, tuple) and len(answer) == len(function.returns) + 1 and type(answer[-1]) is int
        kinds = {"i": int, "f": float, "s": str, "d": dict, "l": list}
        for letter, value in zip(function.returns, answer, strict=False):
            assert letter == "n" or isinstance(value, kinds[letter]), (name, answer)


@pytest.mark.parametrize("name", [f.name for f in table() if f.refused])
def test_what_is_not_simulated_says_so(acl, name):
    function = BY_NAME[name]
    answer = called(acl, name)(*arguments(function))
    code = answer[-1] if isinstance(answer, tuple) else answer
    if function.returns == "ret" or isinstance(answer, tuple):
        assert code == code_of("not_supported") == 207000
    else:
        assert not answer  # no code to answer: 0 or None
    assert f"call acl.{name}" in acl.get_recent_err_msg()


def test_functions_without_arguments_do_not_look_at_any(acl):
    assert acl.rt.get_run_mode(1, "x", None) == (1, 0)


@pytest.mark.parametrize(("value", "passes"), [(0, True), (-1, True), (1 << 64, True), (True, True), (1.0, False), ("1", False)])
def test_wide_numbers_are_real_ints_and_wrap_around(acl, value, passes):
    if passes:
        assert acl.create_data_buffer(value, 1) > 0
        assert acl.get_data_buffer_addr(acl.create_data_buffer(value, 1)) == value % (1 << 64)
    else:
        with pytest.raises(TypeError):
            acl.create_data_buffer(value, 1)


def test_numpy_numbers_pass_where_32_bits_are_wanted_only(acl):
    np = pytest.importorskip("numpy")
    assert acl.data_type_size(np.int64(0)) == 4
    with pytest.raises(TypeError):
        acl.create_data_buffer(np.int64(0), 1)


def test_lists_are_lists_and_hold_numbers(acl):
    with pytest.raises(TypeError, match="argument 1 is not list"):
        acl.create_tensor_desc(0, (1, 2), 2)
    with pytest.raises(ValueError, match="argument 1"):
        acl.create_tensor_desc(0, [1, "2"], 2)
    np = pytest.importorskip("numpy")
    attribute = acl.op.create_attr()
    with pytest.warns(UserWarning):
        assert acl.op.set_attr_list_int(attribute, "axes", np.array([1, 2])) == 0
    with pytest.raises(TypeError, match="is not list"):
        acl.op.set_attr_list_string(attribute, "names", np.array(["a"]))
