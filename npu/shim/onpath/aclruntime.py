"""The module that unmodified scripts import as `aclruntime`."""

from npu.shim.aclruntime import *  # noqa: F403
from npu.shim.aclruntime import __all__ as __all__
