"""`npu-smi set` and `clear` on simulated devices: their health and faults, for stories and tests. All else is refused.

`set -t health -i CARD [-c CHIP] -d OK|Warning|Alarm|Critical|UNKNOWN [-m "CODE text"]`, `clear -t health -i CARD [-c CHIP]`, and
`clear -t ecc-info -i CARD [-c CHIP]`, a form of the real tool.
"""

from __future__ import annotations

from contextlib import closing

from npu.driver.door import Snapshot
from npu.driver.state import HEALTH, Table
from npu.smi import failures, helps, info
from npu.smi.asked import key

TYPE, COUNTS = "health", "ecc-info"
NAMES = {"set": ("-t", "-i", "-c", "-d", "-m"), "clear": ("-t", "-i", "-c")}
Answer = tuple[str, int]


def change(arguments: list[str], snapshot: Snapshot) -> Answer:
    """arguments: "set" or "clear" and its options. Types of the real tool that simulated devices have not are -8255."""
    command, words = arguments[0], arguments[1:]
    values = dict(zip(words[::2], words[1::2], strict=False))
    unknown = next((word for word in words[::2] if word not in NAMES[command]), None)
    counts = command == "clear" and values.get("-t") == COUNTS
    if values.get("-t") != TYPE and not counts:
        return failures.command(command, failures.NOT_SUPPORTED), failures.NOT_SUPPORTED
    if unknown is not None or len(words) % 2:
        return failures.wrong_parameter(unknown or words[-1]) + helps.tool(), failures.PARAMETER
    health = values.get("-d", HEALTH[0] if command == "clear" else "")
    if health not in HEALTH:
        return failures.wrong_parameter("-d") + helps.tool(), failures.PARAMETER
    try:
        chosen = info.asked(values, snapshot)
    except info.Wrong as refused:
        return f"{refused}{helps.tool()}", failures.PARAMETER
    if chosen.card is None:
        return failures.no_card_id(), failures.PARAMETER
    with closing(Table.open()) as table:
        for device in chosen.chips:
            if counts:
                table.clear_errors(device.id)
                continue
            faults = (values["-m"],) if "-m" in values else ()
            # a fault more is added to those there are; a change of the health alone leaves them, clear removes them
            table.set_health(device.id, health, () if command == "clear" else (*device.faults, *faults))
    told = f"memory error counts of NPU {chosen.card} are 0" if counts else f"health of NPU {chosen.card} is {health}"
    return key("Status", "OK") + key("Message", told), 0
