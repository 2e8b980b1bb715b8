"""The fusion passes in the order they run: graph fusion first, then UB fusion, by priority.

Priorities from 4000 are those of the engine's own configuration where they are public (spec of the pass groups Main and Down);
clean-ups, which the engine runs in its graph stages, stand before. Where the order matters here and the real one is another (the
engine tries a place again after each pass), the number says the order: TbeMultiOutputFusionPass stands behind the chains of one
result, the convolution on stored integers and the residual connection before the activations.
"""

from __future__ import annotations

from collections.abc import Mapping

from npu.graph.passes import (
    add_layer_norm_v3,
    add_norm,
    attention,
    batchnorm_parts,
    cast_elimination,
    common_subexpressions,
    concat_slice,
    conv_activation,
    conv_batchnorm,
    conv_double_in,
    conv_quant,
    conv_relu,
    conv_scale,
    conv_transpose_batchnorm,
    depthwise_activation,
    dynamic_elementwise,
    eltwise_cast,
    gelu,
    gemm_to_matmul,
    inplace_add_norm,
    layer_norm,
    matmul_activation,
    matmul_bias,
    matmul_cast,
    multi_output,
    pad_conv,
    pad_max_pool,
    quantise,
    reduce_elementwise,
    relu,
    reshape_elimination,
    rms_norm,
    softmax,
    split_conv_concat,
    swish,
    transpose_elimination,
    vector_chain,
)
from npu.graph.passes.base import GRAPH, UB, NearMiss, Outcome, Pass, Work
from npu.graph.switches import Switches

PASSES: tuple[Pass, ...] = (
    Pass(common_subexpressions.NAME, GRAPH, 1000, common_subexpressions.run),
    Pass(cast_elimination.NAME, GRAPH, 1010, cast_elimination.run),
    Pass(reshape_elimination.NAME, GRAPH, 1020, reshape_elimination.run),
    Pass(transpose_elimination.NAME, GRAPH, 1030, transpose_elimination.run),
    Pass(concat_slice.NAME, GRAPH, 1040, concat_slice.run),
    Pass(quantise.REQUANT, GRAPH, 4010, quantise.run_requant),
    Pass(batchnorm_parts.NAME, GRAPH, 4040, batchnorm_parts.run),
    Pass(conv_transpose_batchnorm.NAME, GRAPH, 4065, conv_transpose_batchnorm.run, fixed=True),
    Pass(pad_conv.NAME, GRAPH, 4190, pad_conv.run),
    Pass(pad_conv.DEPTHWISE, GRAPH, 4191, pad_conv.run_depthwise),
    Pass(pad_max_pool.NAME, GRAPH, 4192, pad_max_pool.run),
    Pass(conv_batchnorm.NAME, GRAPH, 4060, conv_batchnorm.run),
    Pass(conv_scale.SCALE, GRAPH, 4070, conv_scale.run_scale),
    Pass(conv_scale.BIAS, GRAPH, 4080, conv_scale.run_bias),
    Pass(layer_norm.NAME, GRAPH, 4336, layer_norm.run, fixed=True),
    Pass(rms_norm.NAME, GRAPH, 4337, rms_norm.run, fixed=True),
    Pass(add_norm.LAYER, GRAPH, 4338, add_norm.run_layer, fixed=True),
    Pass(add_norm.RMS, GRAPH, 4341, add_norm.run_rms, fixed=True),
    Pass(inplace_add_norm.NAME, GRAPH, 4342, inplace_add_norm.run, fixed=True),
    Pass(attention.NAME, GRAPH, 4345, attention.run, fixed=True),
    Pass(softmax.NAME, GRAPH, 4344, softmax.run, fixed=True),
    Pass(gelu.NAME, GRAPH, 4350, gelu.run, fixed=True),
    Pass(relu.NAME, GRAPH, 5080, relu.run),
    Pass(gemm_to_matmul.NAME, GRAPH, 5100, gemm_to_matmul.run),
    Pass(matmul_cast.NAME, GRAPH, 5110, matmul_cast.run),
    Pass(matmul_bias.NAME, GRAPH, 5120, matmul_bias.run),
    Pass(split_conv_concat.NAME, GRAPH, 5195, split_conv_concat.run, fixed=True),
    Pass(conv_quant.ADD_MUL, UB, 4000, conv_quant.run_add_mul, fixed=True),
    Pass(conv_quant.SIGMOID_MUL, UB, 4000, conv_quant.run_sigmoid_mul, fixed=True),
    Pass(quantise.CONV, UB, 4000, quantise.run_conv),
    Pass(quantise.PRODUCT, UB, 4010, quantise.run_product),
    Pass(matmul_activation.NAME, UB, 4300, matmul_activation.run, fixed=True),
    Pass(depthwise_activation.NAME, UB, 4990, depthwise_activation.run),
    Pass(conv_quant.VADD_RELU, UB, 4995, conv_quant.run_vadd_relu, fixed=True),
    Pass(conv_double_in.NAME, UB, 4996, conv_double_in.run, fixed=True),
    Pass(conv_activation.NAME, UB, 5000, conv_activation.run),
    Pass(conv_relu.NAME, UB, 5000, conv_relu.run),
    Pass(swish.NAME, UB, 5900, swish.run, fixed=True),
    Pass(reduce_elementwise.NAME, UB, 5900, reduce_elementwise.run, fixed=True),
    Pass(vector_chain.NAME, UB, 5940, vector_chain.run, fixed=True),
    Pass(multi_output.NAME, UB, 5945, multi_output.run, fixed=True),
    Pass(add_layer_norm_v3.NAME, UB, 5950, add_layer_norm_v3.run, fixed=True),
    Pass(dynamic_elementwise.REDUCE, UB, 5950, dynamic_elementwise.run_reduce, opened=True),
    Pass(dynamic_elementwise.CHAIN, UB, 5960, dynamic_elementwise.run_chain, opened=True),
    Pass(eltwise_cast.NAME, UB, 5980, eltwise_cast.run, fixed=True),
)


def run(work: Work, switches: Switches, open_shapes: bool = False) -> tuple[dict[str, dict[str, Outcome]], list[NearMiss]]:
    """Run every pass that is on. The counts by kind and name (switched-off passes do not appear) and all near misses.

    open_shapes: the model will be launched operator by operator with shapes that are known then; passes for fixed shapes rest.
    """
    counts: dict[str, dict[str, Outcome]] = {GRAPH: {}, UB: {}}
    misses: list[NearMiss] = []
    for kind in (GRAPH, UB):
        for each in sorted((p for p in PASSES if p.kind == kind), key=lambda p: p.priority):
            if not switches.on(each.name, kind, each.switchable) or (each.fixed if open_shapes else each.opened):
                continue
            outcome = each.run(work)
            counts[kind][each.name] = outcome
            misses += outcome.near_misses
    return counts, misses


def left_out(counts: Mapping[str, Mapping[str, Outcome]], switches: Switches) -> dict[str, str]:
    """The passes that did not run, and why."""
    idle = (p for p in PASSES if p.name not in counts[p.kind])
    why = {True: "fixed shapes", False: "open shapes"}
    return {p.name: why[p.opened] if switches.on(p.name, p.kind, p.switchable) else "switched off" for p in idle}
