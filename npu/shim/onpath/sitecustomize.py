"""Found first on PYTHONPATH under the launchers: puts the script's clock on the simulated timeline, then hands over to the
sitecustomize that would have been found without us."""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_paths = [p for p in sys.path if os.path.abspath(p or ".") != _here]
_next = importlib.machinery.PathFinder.find_spec("sitecustomize", _paths)
if _next is not None and _next.loader is not None:
    _module = importlib.util.module_from_spec(_next)
    sys.modules["sitecustomize"] = _module
    _next.loader.exec_module(_module)

if os.environ.get("NPU_PATCH_TIME", "1") != "0":
    from npu.shim import script_threads, script_time

    script_time.install()
    script_threads.install()
