"""A job of several ranks on this host: one process each, with the variables launchers set, ended together."""

from __future__ import annotations

import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.common import CliError

HOST = "127.0.0.1"
GRACE = 10.0  # s of real time that the others get to end by themselves after one rank has failed
POLL = 0.02


def environments(base: Mapping[str, str], ranks: int, port: int, job: str) -> list[dict[str, str]]:
    """What each rank gets: the launchers' variables, one time zero, one folder to exchange through."""
    shared = {
        "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": HOST, "MASTER_PORT": str(port),
        "NPU_EPOCH": str(time.time_ns()), "NPU_JOB_DIR": job,
    }  # fmt: skip
    return [{**base, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), "GROUP_RANK": "0"} for rank in range(ranks)]


def check(ranks: int, environment: Mapping[str, str]) -> None:
    """CliError where the simulated host has not as many devices."""
    from npu.driver.machine import Machine

    devices = Machine.of(environment).device_count
    if ranks > devices:
        raise CliError(
            f"--nproc={ranks}, but this host has {devices} devices", "give fewer ranks, or set NPU_DEVICES (at most 16)"
        )


def master_port(wanted: int) -> int:
    """A port the ranks may meet at: the wanted one, or a free one for 0. CliError when it is taken."""
    with socket.socket() as probe:
        try:
            probe.bind((HOST, wanted))
        except OSError as error:
            raise CliError(
                f"--master-port={wanted} cannot be used: {error.strerror}", "give another port, or leave the option out"
            ) from error
        return int(probe.getsockname()[1])


def run(words: Sequence[str], environment: Mapping[str, str], output: Path, ranks: int, port: int) -> tuple[int, list[Path]]:
    """Run all ranks; the status of the first that failed (0 when none did), and the PROF folders that came into being.

    After a failure the others have some seconds to end by themselves, as they do when they lose a rank; then they are ended.
    """
    before = set(output.glob("PROF_*"))
    chosen = master_port(port)
    with TemporaryDirectory(prefix="npu-job-", dir=output) as job:
        each = environments(environment, ranks, chosen, job)
        status = _wait([subprocess.Popen(list(words), env=env) for env in each])
    return status, sorted(p for p in output.glob("PROF_*") if p not in before)


def _wait(children: list[subprocess.Popen[bytes]]) -> int:
    """The status of the first that failed, 128+n for a signal; 0 when none did."""

    def hand_on(number: int, _frame: object) -> None:
        for child in children:
            if number != signal.SIGINT and child.poll() is None:  # the terminal has sent Ctrl-C to all of them
                child.send_signal(number)

    ended: queue.SimpleQueue[int] = queue.SimpleQueue()  # ranks in the order in which they end
    for rank, child in enumerate(children):
        threading.Thread(target=_await, args=(child, rank, ended), daemon=True).start()
    former = {n: signal.signal(n, hand_on) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    status, running, deadline = 0, set(range(len(children))), float("inf")
    try:
        while running:
            with suppress(queue.Empty):
                rank = ended.get(timeout=POLL)
                running.discard(rank)
                code = children[rank].returncode
                if code and not status:
                    status, deadline = 128 - code if code < 0 else code, time.monotonic() + GRACE
                    print(f"msprof: rank {rank} ended with {status}", file=sys.stderr)
            if running and time.monotonic() > deadline:
                print(f"msprof: ranks {', '.join(map(str, sorted(running)))} are ended", file=sys.stderr)
                for rank in running:
                    children[rank].kill()
                deadline = float("inf")
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        for child in children:
            if child.poll() is None:
                child.kill()
    return status


def _await(child: subprocess.Popen[bytes], rank: int, ended: queue.SimpleQueue[int]) -> None:
    child.wait()
    ended.put(rank)
