"""`npu-smi info watch`: rows for ever, flushed card by card; ended by a signal, as the real tool is."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable

from npu.driver.door import DeviceInfo, Snapshot
from npu.smi import failures, helps, info, lists, place, watch
from npu.smi.asked import Asked

LONGEST_S = 100
Answer = tuple[str, int]


def run(words: list[str], snapshot: Snapshot, look: Callable[[], Snapshot]) -> Answer:
    """Does not return on a good command line; else the refusal and its code. look: a new snapshot for every round."""
    try:
        chosen = info.options(words)
        if not snapshot.devices:
            return lists.NO_CARD, 0
        wanted = info.asked(chosen.values, snapshot)
        delay = _delay(chosen.values.get("-d", "1"))
        metrics = watch.metrics(chosen.values.get("-s", ""), wanted.generation)
        if metrics is None:
            raise info.Wrong(failures.wrong_parameter("-s"))
    except info.Wrong as refused:
        return f"{refused}{helps.info()}", failures.PARAMETER
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ctrl-C ends the process by the signal and prints nothing
    chips = wanted.family != place.NEWEST
    sys.stdout.write(watch.head(metrics, chips))
    while True:
        now = Asked(snapshot, wanted.card, wanted.chip, None)
        for _, devices in place.cards(tuple(now.chips)):
            _write(devices, metrics, chips)
        time.sleep(delay)
        snapshot = look()


def _write(devices: list[DeviceInfo], metrics: tuple[watch.Metric, ...], chips: bool) -> None:
    sys.stdout.write("".join(watch.row(device, metrics, chips) for device in devices))
    sys.stdout.flush()


def _delay(written: str) -> int:
    if not (written.isascii() and written.isdigit() and 1 <= int(written) <= LONGEST_S):
        raise info.Wrong(failures.wrong_parameter("-d"))
    return int(written)
