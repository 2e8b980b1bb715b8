"""The operator AddRelu of the domain my.ops, z = max(x + scale * y, 0), with a schedule that moves 16 columns at a time."""

from npu import tbe


def narrow(out, chip):
    made = tbe.create_schedule(out)
    stage = made[out]
    rows, columns = stage.axes
    block, inside = stage.split(rows, nparts=chip.aiv)
    loop, tile = stage.split(columns, factor=16)
    stage.reorder(block, loop, inside, tile)
    stage.bind(block)
    for tensor in made.tensors:
        if tensor.operation is None:
            one = made.cache_read(tensor)
        elif tensor is out:
            one = made.cache_write(tensor)
        else:
            one = made[tensor]
            one.set_scope("local.UB")
        one.compute_at(stage, loop)
        one.emit_insn(None, "vector_auto")
    return made


@tbe.operator("AddRelu", domain="my.ops", schedule=narrow)
def add_relu(x, y, *, scale=1.0):
    return tbe.dsl.vrelu(tbe.dsl.vadd(x, tbe.dsl.vmuls(y, scale)))
