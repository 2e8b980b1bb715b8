"""Rule 10. One execution: blocks of Conv2D 20, BNInfer 6, Relu 4, each 1 after the other, in us."""

from __future__ import annotations

import pytest

from npu import cost, soc
from npu.cost import Work
from profiler import texts
from profiler.analysis.shapes import conv_work, shapes
from tests.made import Made
from tests.unit.profiler.said import loud, said

RULE = "unfused-pattern"
CHAIN = (("Conv2D", 20.0), ("BNInfer", 6.0), ("Relu", 4.0))
SHAPES = {
    "in_shapes": "1,64,56,56;64,64,3,3",
    "in_dtypes": "FLOAT16;FLOAT16",
    "in_formats": "NCHW;NCHW",
    "out_shapes": "1,64,56,56",
    "out_dtypes": "FLOAT16",
    "out_formats": "NCHW",
}


def model(chain: tuple[tuple[str, float], ...] = CHAIN, blocks: int = 10, runs: int = 4, **facts: object) -> Made:
    made = Made()
    start = 0.0
    for run in range(runs):
        called = start
        made.api("aclmdlExecuteAsync", called, called + 5, stream=1, correlation=run, blocking=0, site="loop.py:9")
        start += 2
        for block in range(blocks):
            for op, us in chain:
                made.task(
                    "kernel",
                    start,
                    start + us,
                    correlation=run,
                    model=1,
                    op_type=op,
                    name=f"{op}_{block}",
                    task_type="AI_CORE",
                    **{**SHAPES, **facts},
                )
                start += us + 1
        made.api("aclrtSynchronizeStream", called + 5, start - 1, stream=1, blocking=1)
        start += 19  # the host looks at the result
    return made


def ratio() -> float:
    """Modelled convolution with two element operations behind it over the bare one."""
    chip = soc.find(soc.DEFAULT)
    elements = 64 * 56 * 56
    works = [
        Work("conv", "Conv2D", "float16", (1, 56, 56, 64, 64, 3, 3, 1), 2 * (elements + 64 * 64 * 9), 2 * elements, e)
        for e in (2 * elements, 0)
    ]
    fused, alone = (cost.kernel(w, chip).duration for w in works)
    return fused / alone


def test_positive() -> None:
    """40 blocks lose 6 + 1 + 4 + 1 = 12 each; the convolution takes over their element work."""
    (finding,) = loud(model(), RULE)
    assert finding.facts["count"] == 40
    assert finding.facts["kernels"] == 80
    assert finding.facts["tails_ns"] == 40 * 10_000
    assert finding.facts["chain"] == "Conv2D + BNInfer + Relu"
    assert finding.facts["intermediate_bytes"] == 80 * 2 * 2 * 64 * 56 * 56  # written and read, fp16
    assert finding.gain is not None
    assert finding.gain.ns == pytest.approx(40 * (12_000 - (ratio() - 1) * 20_000), rel=0.02)
    assert (finding.gain.method, finding.gain.confidence, finding.gain.at_most) == ("model", "high", False)
    assert finding.sites == ("loop.py:9",)


def test_the_activation_may_be_missing() -> None:
    (finding,) = loud(model(chain=CHAIN[:2], blocks=30), RULE)
    assert (finding.facts["kernels"], finding.facts["chain"]) == (120, "Conv2D + BNInfer")


def test_an_activation_written_out_as_several_operators_counts_whole() -> None:
    """Hard-swish in four kernels and plain chains are one finding; the chain that loses most names it."""
    hard_swish = (("Conv2D", 20.0), ("BNInfer", 6.0), ("Add", 3.0), ("ClipByValue", 3.0), ("Mul", 3.0), ("RealDiv", 3.0))
    (finding,) = loud(model(chain=(*hard_swish, *CHAIN)), RULE)
    assert (finding.facts["count"], finding.facts["kernels"]) == (80, 40 * (5 + 2))
    assert finding.facts["chain"] == "Conv2D + BNInfer + Add + ClipByValue + Mul + RealDiv"
    assert finding.facts["short"] == "Conv2D + BNInfer + Add (+3)"


def test_without_shapes_the_gain_is_an_upper_bound() -> None:
    (finding,) = loud(model(in_shapes=""), RULE)
    assert finding.gain is not None
    assert (finding.gain.at_most, finding.gain.confidence) == (True, "medium")
    assert finding.gain.ns == 40 * 12_000


@pytest.mark.parametrize(
    "chain", [(("Conv2D", 20.0), ("Add", 6.0), ("Relu", 4.0)), (("BNInfer", 6.0), ("Conv2D", 20.0)), (("Conv2D", 20.0),)]
)
def test_near_miss_other_neighbours(chain: tuple[tuple[str, float], ...]) -> None:
    assert [f.facts["chain"] for f in said(model(chain=chain, blocks=1), RULE)] == []


def test_near_miss_kernels_on_different_streams_are_no_neighbours() -> None:
    made = model()
    for row in made.rows["task"]:
        row["stream"] = {"BNInfer": 2, "Relu": 3}.get(str(row["op_type"]), 1)
    assert said(made, RULE) == []


def test_near_miss_kernels_of_different_launches_are_no_neighbours() -> None:
    made = Made()
    for number in range(20):
        made.task(
            "kernel", number * 30, number * 30 + 20, correlation=number, op_type="BNInfer" if number % 2 else "Conv2D", name="k"
        )
    assert said(made, RULE) == []


def test_near_miss_the_intermediate_result_has_a_second_reader() -> None:
    made = model(chain=(*CHAIN, ("Add", 5.0)))
    for row in made.rows["task"]:
        writes, reads = {
            "Conv2D": ("1+0:8", "0+0:8"),
            "BNInfer": ("2+0:8", "1+0:8"),
            "Relu": ("3+0:8", "2+0:8"),
            "Add": ("4+0:8", "1+0:8;3+0:8"),
        }[str(row["op_type"])]
        row["writes"], row["reads"] = writes, reads
    assert said(made, RULE) == []
    for row in made.rows["task"]:
        if row["op_type"] == "Add":
            row["reads"] = "3+0:8"
    assert len(said(made, RULE)) == 1


def converted(**build: object) -> Made:
    made = model()
    made.meta["model_1"] = {"build": build}
    return made


REFUSED = [["ConvBatchnormFusionPass", f"BNInfer_{n}", f"the convolution's output c{n} is also used by Add_{n}"] for n in range(3)]
OTHER = [["ConvBatchnormFusionPass", "BNInfer_of_another_model", "the filter is not constant"],
         ["GemmToMatmulFusionPass", "Conv2D_0", "something else"]]  # fmt: skip


@pytest.mark.parametrize(("build", "told", "do"), [
    ({"near_misses": [*OTHER, *REFUSED]},
     "atc left 3 of these places as they are, BNInfer_0 for one: the convolution's output c0 is also used by Add_0.", "Change the model"),
    ({"near_misses": OTHER, "passes_off": {"ConvBatchnormFusionPass": "switched off"}},
     "The model was converted with ConvBatchnormFusionPass switched off.", "take it, or ALL, out of --fusion_switch_file"),
    ({"passes_off": {"ConvBatchnormFusionPass": "open shapes"}}, "so ConvBatchnormFusionPass did not run", "--input_shape"),
    ({"near_misses": OTHER, "passes_off": {"PermutePass": "switched off"}}, "through device memory.", "with fusion on"),
])  # fmt: skip
def test_it_says_why_the_conversion_left_it_so(build: dict[str, object], told: str, do: str) -> None:
    (finding,) = loud(converted(**build), RULE)
    assert texts.claim(finding).endswith(told) or told in texts.claim(finding)
    assert do in texts.advice(finding)
    chinese = texts.claim(finding, "zh") + texts.advice(finding, "zh")
    assert "{" not in chinese and ("Add_0" in chinese) == ("Add_0" in told)


def test_what_the_converter_refused_is_gained_only_by_another_model() -> None:
    (finding,) = loud(converted(near_misses=REFUSED), RULE)
    assert finding.gain is not None and finding.gain.at_most


def test_clean_a_fused_model() -> None:
    assert said(model(chain=(("Conv2D", 20.0),), blocks=30), RULE) == []


def test_shapes_as_profiles_print_them() -> None:
    assert shapes('"1,3,224,224;64,3,7,7"') == [(1, 3, 224, 224), (64, 3, 7, 7)]
    assert shapes("") == [()]


def test_convolution_from_block_layouts() -> None:
    """5HD data of 64 channels in 4 blocks of 16, weights 4 * 3 * 3 = 36 blocks."""
    work = conv_work("Conv2D", "1,4,56,56,16;36,4,16,16", "FLOAT16;FLOAT16", "NC1HWC0;FRACTAL_Z", "1,4,28,28,16", "NC1HWC0")
    assert work is not None
    assert work.dims == (1, 28, 28, 64, 64, 9, 1, 1)
    assert (work.read_bytes, work.write_bytes) == (2 * (64 * 56 * 56 + 36 * 4 * 256), 2 * 64 * 28 * 28)
    assert conv_work("Conv2D", "1,-1,56,56", "FLOAT16", "NCHW", "1,64,56,56", "NCHW") is None


@pytest.mark.parametrize(("chain", "case", "words"), [
    (("Pows", "ReduceMean", "Adds", "Rsqrt", "Mul", "Mul"), "eager", "torch_npu.npu_rms_norm"),
    (("Conv2D", "BNInfer", "Relu"), "compile", "torch.compile(model"),
])  # fmt: skip
def test_operators_a_script_calls_one_by_one_are_advised_in_its_own_words(chain, case, words):
    made = Made()
    for run in range(4):
        for n, op in enumerate(chain):
            start = run * 200 + n * 21.0
            made.task("kernel", start, start + 20, op_type=op, name=f"aclnn{op}_{op}AiCore_{op}", task_type="AI_VECTOR_CORE")
    (finding,) = said(made, RULE)
    assert finding.facts["case"] == case
    for lang in texts.LANGUAGES:
        assert words in texts.advice(finding, lang) and "atc" not in texts.advice(finding, lang)
