"""The checks in their order, and what running them gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from diag.checks import (
    application,
    container,
    devices,
    driver,
    environment,
    installs,
    libraries,
    limits,
    model,
    network,
    nodes,
    packages,
    python,
    variables,
    visible,
)
from diag.seen import Seen
from diag.verdict import SEVERITIES, Verdict

Run = Callable[[Seen], Iterable[Verdict]]


@dataclass(frozen=True, slots=True)
class Check:
    """needs: topics (TOPICS) without which the check cannot say anything; it is then listed as missing. about: the first words
    of the facts it judges, as `diag.differences` names them."""

    id: str
    needs: tuple[str, ...]
    run: Run
    about: tuple[str, ...] = ()


# topic -> whether the evidence covers it
TOPICS: dict[str, Callable[[Seen], bool]] = {
    "installs": lambda s: s.host.found is not None,
    "driver": lambda s: s.host.found is not None or s.smi is not None or s.modules is not None,
    "environment": lambda s: s.host.env is not None,
    "libraries": lambda s: s.host.libraries is not None,
    "loader": lambda s: bool(s.loading),
    "device tool": lambda s: s.smi is not None,
    "device nodes": lambda s: s.host.nodes is not None,
    "account": lambda s: s.host.account is not None or bool(s.unresolved),
    "limits": lambda s: s.host.limits is not None,
    "python packages": lambda s: bool(s.host.packages),
    "container start": lambda s: s.started is not None,
    "model": lambda s: bool(s.host.models),
    "disks": lambda s: bool(s.full_disks),
    "pci": lambda s: bool(s.fell_off),
    "pci links": lambda s: bool(s.slow_links),
    "network ports": lambda s: bool(s.ports),
    "cpus": lambda s: s.host.cpus is not None and s.smi is not None and s.smi.topology is not None,
    "probe": lambda s: s.probed is not None,
}

# Ordered by what breaks what: without a driver nothing else counts, limits come last.
CHECKS = (
    Check("driver present", ("driver",), driver.present, ("driver", "cann")),
    Check("devices", ("device tool",), devices.tool, ("device",)),
    Check("card on the bus", ("pci",), devices.on_the_bus),
    Check("PCIe links", ("pci links",), devices.links),
    Check("device nodes", ("device nodes",), nodes.complete, ("node",)),
    Check("rights on the nodes", ("device nodes", "account"), nodes.rights, ("node",)),
    Check("account", ("account",), nodes.account),
    Check("container start", ("container start",), container.handed_in),
    Check("installs", ("installs",), installs.present, ("cann",)),
    Check("half-switched install", ("installs",), installs.switched, ("cann",)),
    Check("driver and firmware", ("installs",), driver.firmware, ("driver", "firmware")),
    Check("driver and CANN", ("driver",), driver.with_cann, ("driver", "cann in force")),
    Check("packages of one CANN", ("installs",), packages.required, ("cann",)),
    Check("operator binaries", ("installs",), packages.kernels, ("cann",)),
    Check("one version in the environment", ("environment",), environment.one_version, ("env", "library")),
    Check("environment loaded", ("environment",), environment.loaded, ("env",)),
    Check("values of variables", ("environment",), variables.values, ("env",)),
    Check("visible devices", ("environment",), visible.devices, ("env",)),
    Check("libraries in use", ("libraries",), libraries.in_use, ("library", "env LD_LIBRARY_PATH")),
    Check("loader messages", ("loader",), libraries.messages),
    Check("application", ("loader",), application.symbols),
    Check("network ports", ("network ports",), network.ports),
    Check("python packages", ("python packages",), python.pairings, ("package", "python", "cann in force")),
    Check("model", ("model",), model.fits),
    Check("CPU affinity", ("cpus",), devices.affinity, ("env",)),
    Check("disks", ("disks",), limits.disks),
    Check("limits", ("limits",), limits.enough, ("limit",)),
    Check("minimal program", ("probe",), devices.probe),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Checked:
    """verdicts: the worst first, otherwise in the order of CHECKS. fine: ids of checks that ran and found nothing.
    missing: (check, topics the evidence does not cover)."""

    seen: Seen
    verdicts: tuple[Verdict, ...]
    fine: tuple[str, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def status(self) -> int:
        """Exit code: 1 when something is wrong, 0 when there are only remarks."""
        return int(any(v.severity != SEVERITIES[-1] for v in self.verdicts))

    @property
    def worst(self) -> str:
        """`error`, `warning` or `ok`."""
        return next((v.severity for v in self.verdicts if v.severity != SEVERITIES[-1]), "ok")


def lacks(check: Check, seen: Seen) -> tuple[str, ...]:
    """The topics the check needs and the evidence does not cover."""
    return tuple(topic for topic in check.needs if not TOPICS[topic](seen))


def check(seen: Seen) -> Checked:
    """Run every check the evidence is enough for."""
    verdicts: list[Verdict] = []
    fine: list[str] = []
    missing: list[tuple[str, tuple[str, ...]]] = []
    for one in CHECKS:
        lacking = lacks(one, seen)
        if lacking:
            missing.append((one.id, lacking))
            continue
        said = list(one.run(seen))
        verdicts += said
        if not said:
            fine.append(one.id)
    once = {(v.id, tuple(sorted((k, str(x)) for k, x in v.facts.items()))): v for v in reversed(verdicts)}
    ordered = sorted(reversed(once.values()), key=lambda v: SEVERITIES.index(v.severity))
    return Checked(seen, tuple(ordered), tuple(fine), tuple(missing))
