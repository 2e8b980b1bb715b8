"""Story: the three-step check of a host."""

from pathlib import Path

import pytest

from tests.scripts.conftest import BIN

RUN = Path(__file__).parents[2] / "samples" / "environment-check" / "run.sh"


def check(start, **env):
    return start(
        "python",
        "-c",
        f"import subprocess, sys; sys.exit(subprocess.run(['sh', {str(RUN)!r}]).returncode)",
        env={"BIN": str(BIN), **env},
    )


def test_every_step_passes_on_the_built_in_machine(start):
    ran = check(start)
    assert ran.code == 0, ran.out + ran.err
    assert "| npu-smi 25.5.0" in ran.out and "device 0, soc Ascend910B3, codes [0, 0, 0]" in ran.out
    assert ran.out.splitlines()[-2:] == ["verdict: nothing wrong was found", "exit code 0"]


@pytest.mark.slow
def test_mixed_libraries_are_found_although_every_step_works(start):
    start("npu-diag", "host", "create", "mixed", "--preset", "mixed")
    ran = check(start, NPU_HOST="mixed")
    assert ran.code == 1 and "codes [0, 0, 0]" in ran.out and "LD_LIBRARY_PATH=/usr/local/Ascend/ascend-toolkit/8.0.0" in ran.out
    assert "ERROR ld_library_path_other_version" in ran.out
