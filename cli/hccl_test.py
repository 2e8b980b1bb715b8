"""`hccl_test`: the collective benchmark in the real tool's form, for nets from two ranks to whole clusters, without data.

`hccl_test all_reduce -b 8K -e 1G -f 2 -p 8 --servers 512`; `hccl_test scaling ...` shows how training scales.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NoReturn

from cli import real_tool
from cli.common import CliError, near, run
from cli.hccl_options import NAME, OPERATIONS, SCALING, Net, help_lines, net_of, parse, size_of, sizes, span, whole
from npu.units import MIB

REDUCING = ("all_reduce", "reduce_scatter", "reduce")
HEADER = f"{'data_size(Bytes):':<15} | {'aveg_time(us):':<12} | {'alg_bandwidth(GB/s):':<18} | check_result:"


def main() -> NoReturn:
    """The console script."""
    run(NAME, hccl_test)


def hccl_test(arguments: list[str]) -> int:
    """One operation over all sizes, or the scaling table."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("\n".join(help_lines()))
        return 0 if arguments else 2
    word = arguments[0].removesuffix("_test")
    if word not in (*OPERATIONS, "scaling"):
        close = near(word, [*OPERATIONS, "scaling"])
        raise CliError(
            f"no operation {word!r}", f"did you mean {close}?" if close else f"one of {', '.join(OPERATIONS)}, or scaling"
        )
    real_tool.hand_on(f"{word}_test", arguments[1:])
    real_tool.say_simulated(NAME)
    values = parse(arguments[1:], SCALING if word == "scaling" else {})
    if word == "scaling":
        return scaling(values)
    for line in benchmark(word, values):
        print(line, flush=True)
    return 0


def benchmark(word: str, values: Mapping[str, str]) -> Iterator[str]:
    """The lines of one run."""
    from npu.hccl import dtypes, scale

    net = net_of(values)
    op, per_rank = OPERATIONS[word]
    try:
        dtype = dtypes.by_name(values["datatype"])
        reduction = dtypes.REDUCTIONS.index(values["op"].lower())
    except (KeyError, ValueError):
        raise CliError(
            f"-d {values['datatype']} -o {values['op']}: no such type or reduction", f"{NAME} --help lists them"
        ) from None
    if op in REDUCING and not dtypes.can_reduce(dtype, reduction, net.family):
        raise CliError(f"{values['datatype']} with {values['op']} is not reduced on this chip", "take another -d or -o")
    if whole(values["root"], "-r", 0) >= net.ranks:
        raise CliError(f"-r {values['root']}: there are {net.ranks} ranks", f"give 0 to {net.ranks - 1}")
    all_sizes = sizes(values, dtypes.DTYPES[dtype].size)
    yield (
        f"the minbytes is {all_sizes[0]}, maxbytes is {size_of(values['maxbytes'], '-e')}, "
        f"iters is {whole(values['iters'], '-n')}, warmup_iters is {whole(values['warmup_iters'], '-w', 0)}"
    )
    yield HEADER
    verdict = check(op, net, values, reduction)
    for size in all_sizes:
        total = size * net.ranks if per_rank else size
        us = scale.duration(op, net.family, net.servers, net.width, total, net.algo, net.per_pod) / 1000
        rate = total / us / 1000 if us else 0.0
        yield f"{size:<17} | {us:<14.2f} | {rate:<20.5f} | {verdict}"


def check(op: str, net: Net, values: Mapping[str, str], reduction: int) -> str:
    """success or failed, from carrying the steps out on integers; NULL: switched off, too many ranks, or not representable."""
    from npu.hccl import check as steps
    from npu.hccl.topology import of

    if values["check"] == "0" or net.ranks > steps.MOST_RANKS:
        return "NULL"
    if not steps.representable(op, reduction, values["datatype"].lower(), net.ranks):
        return "NULL"
    topology = of(net.family, net.ranks, net.width, net.per_pod)
    root = int(values["root"]) if op in ("broadcast", "reduce", "scatter") else 0
    return "success" if steps.right(op, topology, net.algo, root) else "failed"


def scaling(values: Mapping[str, str]) -> int:
    """A table over numbers of ranks, and a plot where --output says."""
    from npu.hccl.scaling import Training, curve
    from npu.units import duration

    net = net_of(values)
    training = Training(
        span(values.get("compute", "200ms")),
        size_of(values.get("gradients", "1G"), "--gradients"),
        max(1, size_of(values.get("bucket", "25M"), "--bucket")),
    )
    least, most = whole(values.get("from", "8"), "--from"), whole(values.get("to", "65536"), "--to")
    points = curve(training, net.family, net.width, least, most, net.algo, net.per_pod)
    print(f"computation {duration(training.compute)}, gradients {training.gradients / MIB:.0f} MiB in buckets of "
          f"{training.bucket / MIB:.0f} MiB, servers of {net.width}")  # fmt: skip
    print(f"{'ranks':>7} | {'exchange':>10} | {'exposed':>10} | {'step':>10} | {'efficiency':>10} | {'without overlap':>15}")
    for p in points:
        print(f"{p.ranks:>7} | {duration(p.exchange):>10} | {duration(p.exposed):>10} | {duration(p.step):>10} | "
              f"{p.efficiency:>10.1%} | {duration(p.alone):>15}")  # fmt: skip
    if "output" in values:
        from cli.scaling_plot import write

        print(f"written: {write(points, values['output'])}")
    return 0
