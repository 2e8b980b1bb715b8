"""The gain report of tuning, in the offline form of the real tool (CANN 7 and later)."""

from __future__ import annotations

from typing import Any

from npu.graph.tune import TASK, Tuned


def improvement(before: float, after: float) -> str:
    """How much more is done in the same time: 134 -> 99 is 35.35%."""
    return f"{(before / after - 1) * 100:.2f}%" if after else "0.00%"


def facts(tuned: Tuned, name: str, seconds: float, before: int, after: int) -> list[dict[str, Any]]:
    """before, after: ns of the model's kernels one after another."""
    modified = [
        {
            "op_name": c.kernel.name,
            "op_type": c.kernel.op_type,
            "tune_performance": {
                "Schedule": {
                    "performance_after_tune(us)": c.after / 1000,
                    "performance_before_tune(us)": c.before / 1000,
                    "performance_improvement": improvement(c.before, c.after),
                    "update_mode": c.mode,
                    "schedule": c.kernel.work.schedule,
                    "kernels": c.count,
                }
            },
        }
        for c in tuned.changes
    ]
    added = sum(c.mode == "add" for c in tuned.changes)
    return [
        {"basic": {"tuning_name": name, "tuning_time(s)": round(seconds, 2)}},
        {
            TASK: {
                "model_baseline_performance(ms)": before / 1e6,
                "model_performance_improvement": improvement(before, after),
                "model_result_performance(ms)": after / 1e6,
                "opat_tuning_result": "tuning successful",
                "repo_modified_operators": modified,
                "repo_summary": {
                    "repo_add_num": added,
                    "repo_hit_num": tuned.hits,
                    "repo_reserved_num": 0,
                    "repo_unsatisfied_num": tuned.kept,
                    "repo_update_num": len(tuned.changes) - added,
                    "total_num": tuned.total,
                },
            }
        },
    ]
