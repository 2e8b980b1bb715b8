"""Story: a foreign library stands first in the path."""

from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "samples" / "wrong-library"


def test_the_hidden_library_is_named_and_the_mended_path_is_silent(start):
    ran = start("python", str(SAMPLE / "run.py"))
    assert ran.code == 0, ran.out + ran.err
    first, _, second = ran.out.partition("[exit code 1]")
    assert "libascendcl.so come from /opt/vision/lib (LD_LIBRARY_PATH entry 1) instead of toolkit 8.3.RC1" in first
    assert "take /opt/vision/lib out of LD_LIBRARY_PATH" in first and "libvision" not in first
    assert "verdict: nothing wrong was found" in second and "[exit code 0]" in second
