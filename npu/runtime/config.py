"""How a model shall be loaded and run, as a handle collects it option by option."""

from __future__ import annotations

from npu.errors import NpuError
from npu.runtime import model
from npu.runtime.process import Process
from npu.runtime.thread import HostThread

# aclmdlConfigAttr
PRIORITY, LOAD_TYPE, PATH, MEM, MEM_SIZE, WEIGHT, WEIGHT_SIZE, WORK, WORK_SIZE = range(9)
REUSE = 13
KNOWN = (*range(9), REUSE)
QUEUES = range(9, 13)
# values of LOAD_TYPE
FILE, FILE_WITH_MEM, MEMORY, MEMORY_WITH_MEM, FILE_WITH_QUEUES, MEMORY_WITH_QUEUES = range(1, 7)
# load type -> options that must have been set
NEEDED = {FILE: (PATH,), FILE_WITH_MEM: (PATH,), MEMORY: (MEM, MEM_SIZE), MEMORY_WITH_MEM: (MEM, MEM_SIZE)}
# aclmdlExecConfigAttr
STREAM_TIMEOUT, EVENT_TIMEOUT = 0, 1
EXEC_KNOWN = range(10)


class LoadConfig:
    """Options of a load."""

    def __init__(self) -> None:
        self.values: dict[int, int | str] = {}

    def set(self, option: int, value: object) -> None:
        """Take an option. NpuError invalid_param, not_supported. TypeError as the binding for a value of a wrong kind."""
        if option in QUEUES:
            raise NpuError("not_supported", option=option, reason="models fed by queues")
        if option not in KNOWN:
            raise NpuError("invalid_param", option=option)
        if not isinstance(value, int | str) or isinstance(value, str) != (option == PATH):
            raise TypeError("acl.mdl.set_config_opt args parse failed")
        if option == PRIORITY and value not in range(8):
            raise NpuError("invalid_param", option=option, value=value)
        self.values[option] = value

    def _number(self, option: int) -> int:
        value = self.values.get(option, 0)
        return value if isinstance(value, int) else 0

    def load(self, process: Process, thread: HostThread) -> int:
        """Load by what was set; the model's id. NpuError invalid_param names what is missing, and those of loading."""
        kind = self._number(LOAD_TYPE)
        if kind in (FILE_WITH_QUEUES, MEMORY_WITH_QUEUES):
            raise NpuError("not_supported", load_type=kind, reason="models fed by queues")
        missing = [o for o in NEEDED.get(kind, (LOAD_TYPE,)) if o not in self.values]
        if missing:
            raise NpuError("invalid_param", load_type=kind, missing=missing)
        if kind in (FILE, FILE_WITH_MEM):
            path = str(self.values[PATH])
        else:
            path = model.staged_file(process, self._number(MEM), self._number(MEM_SIZE))
        parts: tuple[str, ...] = ()
        if kind in (FILE_WITH_MEM, MEMORY_WITH_MEM):
            parts = model.given(
                process, path, self._number(WORK), self._number(WORK_SIZE), self._number(WEIGHT), self._number(WEIGHT_SIZE)
            )
        return model.load(process, thread, path, parts)


class ExecConfig:
    """Options of a run. timeout: ms the stream may take, -1 for ever."""

    def __init__(self) -> None:
        self.timeout = -1

    def set(self, option: int, value: int) -> None:
        """Take an option; those without an effect here are accepted. NpuError invalid_param for an unknown one."""
        if option not in EXEC_KNOWN:
            raise NpuError("invalid_param", option=option)
        if option == STREAM_TIMEOUT:
            self.timeout = value if value < 1 << 31 else -1
