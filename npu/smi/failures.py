"""How the tool says that it cannot: everything on stdout, the status is the negative return code modulo 256."""

from __future__ import annotations

# Return codes; the driver interface (DCMI) counts from -8000, the tool itself from -9000, with the same offsets.
NO_DRIVER = -8005  # inner error: the driver cannot be used
FILE = -8014
OCCUPIED = -8020
NOT_SUPPORTED = -8255
PARAMETER = -9001
INNER = -9005

# situation of npu.errors -> code the driver interface fails to start with
START = {"no_driver": NO_DRIVER, "busy": OCCUPIED, "driver_failure": FILE}


def status(code: int) -> int:
    """Exit status of a return code: -8005 -> 187, -8020 -> 172, -9005 -> 211."""
    return code % 256


def start(code: int) -> str:
    """The driver interface did not start: no driver, or the devices are held elsewhere."""
    if code == OCCUPIED:
        return ("DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)\n"
                f"dcmi model initialized failed, because the device is used. ret is {code}\n")
    return f"DrvMngGetConsoleLogLevel failed. (ret=4)\ndcmi module initialize failed. ret is {code}\n"


def command(name: str, code: int) -> str:
    """A command that the device refused with a code."""
    return f"Failed to execute npu-smi {name}. ret is {code}.\n"


def unknown_command() -> str:
    """A word the tool does not know."""
    return "Command or option is not found.\n"


def unsupported(query: str) -> str:
    """The tool knows the query, the device does not answer it. The status of this one is 0."""
    return f"This device does not support querying {query}.\n"


def wrong_parameter(parameter: str) -> str:
    """A value that is none."""
    return f"Error parameter of {parameter}\n"


def no_such(what: str, parameter: str) -> str:
    """An id that no card or chip has: "Invalid card id." and the parameter it came with."""
    return f"Invalid {what} id.\n{wrong_parameter(parameter)}"


def no_card_id() -> str:
    """The type needs -i."""
    return "\nThis command must input card id.\n\n"


INCOMPLETE_DRIVER = (
    "[WARNING]The driver package may not be completely installed, which may cause function abnormal. Please reinstall it.\n"
)
