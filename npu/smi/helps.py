"""The tool's help, its own words. Source: npucli of hicann/driver, form before the 950 generation."""

from __future__ import annotations

COMMANDS = (
    ("-h", "This command's help information"),
    ("--help", "This command's help information"),
    ("-v", "Show npu-smi version information"),
    ("info", "Show hardware details"),
    ("set", "Modify device configuration properties"),
    ("clear", "Clear device information"),
    ("upgrade", "Upgrade MCU firmware"),
)

# What `info -t` takes, in the order and lines of the help. One that no writer exists for is answered "does not support".
INFO_TYPES = (
    ("board", "flash", "memory", "usages", "sensors", "temp", "power", "volt", "mac-addr"),
    ("common", "health", "product", "ecc", "ip", "sys-time", "i2c_check", "work-mode"),
    ("ecc-enable", "p2p-enable", "ssh-enable", "license", "customized-info", "device-share"),
    ("device-share-cfg-recover", "nve-level", "aicpu-config", "pcie-err", "mcu-monitor"),
    ("err-count", "boot-area", "vnpu-mode", "info-vnpu", "vnpu-svm", "cpu-num-cfg"),
    ("first-power-on-date", "proc-mem", "phyid-remap", "vnpu-cfg-recover", "key-manage"),
    ("template-info", "pkcs-enable", "p2p-mem-cfg", "pwm-mode", "pwm-duty-ratio"),
    ("boot-select", "topo", "hccs", "sio-info", "spod-info", "tls-csr-get", "tls-cert"),
    ("tls-cert-period", "rootkey", "hccs-bw", "cpu-freq-up", "sys-log-info", "hccs-credit"),
    ("custom-op", "custom-op-cfg-recover", "custom-op-secverify-enable"),
    ("custom-op-secverify-mode", "op-timeout", "current-fault-event"),
    ("custom-op-secverify-cert", "multi-die-policy", "multi-die-policy-cfg-recover"),
)


def tool() -> str:
    """What no argument, -h and --help print."""
    return "Usage: npu-smi <Command|-h|-v> [Options...]\n\nnpu-smi Command:\n" + "".join(
        f"\t{name:<12}  {text}\n" for name, text in COMMANDS
    )


def info() -> str:
    """What `info -h` prints, and `info` after a wrong parameter."""
    types = ",\n                            ".join(", ".join(line) for line in INFO_TYPES)
    return (
        "Usage: npu-smi info <watch|proc|-h|-m|-l|-t type> [Options...]\n\nCommands:\n"
        + _option("watch", "Show all device's status in scrolling format")
        + _option("proc", "Show device's matrix process status in scrolling format")
        + _option("-h, --help", "Show this help text and exit")
        + _option("-m", "Show all device's mapping information")
        + _option("-l", "Show all device's topology information")
        + _option("-t type", "Show information for type")
        + f"                      type: {types}.\n\nOptions:\n"
        + _option("-i %d", "Card ID") + _option("-c %d", "Chip ID") + _option("-p %d", "Chip Physical ID")
    )


def _option(name: str, text: str) -> str:
    return f"       {name:<14} {text}\n"
