"""Where the real tool of a name is, when there is one: on a machine with a real driver native forms are its business."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

DRIVER_NODE = "/dev/davinci_manager"  # the device node every host with a loaded driver shows
NODE_VARIABLE = "NPUSCOPE_DRIVER_NODE"  # another place of that node: containers with a mapped /dev, and tests


def real_driver() -> bool:
    """True where a real driver is loaded, in a container: where it was handed in."""
    return os.path.exists(os.environ.get(NODE_VARIABLE) or DRIVER_NODE)


def next_on_path(name: str) -> str | None:
    """The executable `name` that comes after ourselves on PATH, None when there is none.

    Ourselves: the running script and the script of this Python's environment, links to them included. Looking only
    behind our own place keeps two installations of ours from calling each other in turn. When we are not on PATH at all
    (called by full path), the first other one counts.
    """
    places = [os.path.join(folder, name) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]
    ours = {os.path.realpath(sys.argv[0]), os.path.realpath(os.path.join(sys.prefix, "bin", name))}
    own = next((at for at, place in enumerate(places) if os.path.realpath(place) in ours), -1)
    for place in places[own + 1 :]:
        if os.path.isfile(place) and os.access(place, os.X_OK) and os.path.realpath(place) not in ours:
            return place
    return None


def simulation_wanted(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """--sim among the arguments or NPU_SIM=1."""
    return "--sim" in arguments or environ.get("NPU_SIM") == "1"


def hand_on(name: str, arguments: Sequence[str]) -> None:
    """Become the real tool with the same arguments. Returns only where there is no real driver, no real tool, or simulation
    was asked for. OSError when the real tool cannot be started."""
    if simulation_wanted(arguments, os.environ) or not real_driver():
        return
    tool = next_on_path(name)
    if tool is not None:
        os.execv(tool, [tool, *arguments])


def say_simulated(name: str) -> None:
    """One line on stderr, for people only: stdout stays what the real tool would print."""
    if sys.stderr.isatty():
        print(f"{name}: simulated by npuscope, no real NPU was asked", file=sys.stderr)
