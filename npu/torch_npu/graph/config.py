"""CompilerConfig of torchair: its switches by name. Those that change nothing here are kept, others are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npu.graph.errors import AtcError
from npu.graph.switches import Switches, read_switches

MODES = ("max-autotune", "reduce-overhead")  # the graph engine; a captured graph of the framework's own kernels


class Section:
    """A group of switches. `known`: name -> default; `values`: name -> what it can be set to here, () anything."""

    _name: str
    _values: dict[str, tuple[Any, ...]]

    def __init__(self, name: str, known: dict[str, Any], values: dict[str, tuple[Any, ...]] | None = None) -> None:
        self.__dict__.update({"_name": name, "_values": values or {}, **known})

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"CompilerConfig has no {self._name}{name} in the simulation; leave it out")
        allowed = self._values.get(name, ())
        if allowed and value not in allowed:
            raise RuntimeError(f"{self._name}{name} = {value!r} is not simulated; {' and '.join(map(repr, allowed))} are")
        self.__dict__[name] = value


class CompilerConfig(Section):
    """mode, fusion_config.fusion_switch_file and ge_config.enable_single_stream have an effect."""

    def __init__(self) -> None:
        super().__init__("", {
            "mode": MODES[0],
            "debug": Section("debug.", {
                "graph_dump": Section("debug.graph_dump.", {"type": None, "path": "./"}, {"type": (None,)}),
            }),
            "fusion_config": Section("fusion_config.", {"fusion_switch_file": None}),
            "ge_config": Section("ge_config.", {
                "enable_single_stream": False, "oo_level": "O3", "optimization_switch": None, "export_compile_stat": None,
            }),
            "experimental_config": Section("experimental_config.", {
                "keep_inference_input_mutations": True, "frozen_parameter": False, "tiling_schedule_optimize": False,
                "cc_parallel_enable": False, "jit_compile": "auto", "topology_sorting_strategy": "DFS",
                "enable_view_optimize": True, "enable_ref_data": False, "static_model_ops_lower_limit": None,
                "remove_noop_ops": True, "pattern_fusion_pass": True, "aclgraph": None,
            }),
            "inference_config": Section("inference_config.", {"dynamic_gears_merge_policy": "zip"}),
        }, {"mode": MODES})  # fmt: skip

    def switches(self) -> Switches:
        """Of the fusion passes. RuntimeError for a file that cannot be read."""
        path = self.__dict__["fusion_config"].fusion_switch_file
        if path is None:
            return Switches()
        try:
            return read_switches(Path(path))
        except AtcError as error:
            raise RuntimeError(f"fusion_config.fusion_switch_file: {error}") from error
