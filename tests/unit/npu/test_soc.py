"""The chip table, and chips of a user's own file."""

import pytest

from npu import soc
from npu.driver import machine


def test_buffers_and_dies():
    die, inference = soc.find("Ascend910_9392"), soc.find("310p3")
    assert (die.dies, die.die_link_gbps, die.cube_mhz, die.l0c) == (2, 224.0, 1850, 131072)
    assert (inference.dies, inference.cube_mhz, inference.ub, inference.l0c, inference.ddr_rate) == (1, 1060, 262144, 262144, 17)
    b3 = soc.find("910B3")
    assert (b3.ub, b3.l1, b3.l0a, b3.l0b, b3.l2_rate) == (196608, 524288, 65536, 65536, 110)


@pytest.mark.parametrize("name", list(soc.table()))
def test_peak_is_cores_times_clock(name):
    chip = soc.find(name)
    if name == "Ascend310":
        return  # rated at 8 TFLOPS, whatever 2 cores of 680 MHz come to
    assert chip.peak_fp16_tflops == pytest.approx(chip.aic * chip.mac_fp16 * 2 * chip.cube_mhz / 1e6, rel=0.03)


def test_a_file_says_what_differs(tmp_path, monkeypatch):
    path = tmp_path / "mine.toml"
    path.write_text('name = "Mine"\nlike = "Ascend910B4"\naic_cnt = 10\naiv_cnt = 20\n')
    chip = soc.find(str(path))
    base = soc.find("910B4")
    assert (chip.name, chip.aic, chip.aiv, chip.family) == ("Mine", 10, 20, "910B")
    assert (chip.l2, chip.cube_mhz, chip.split) == (base.l2, base.cube_mhz, True)
    with pytest.raises(KeyError):
        soc.find("Mine")
    monkeypatch.setenv("NPU_SOC", str(path))
    assert soc.find("Mine") == chip


def test_the_peak_follows_what_a_file_changes(tmp_path):
    """10 cores x 4096 x 2 at 1500 MHz are 122.88 TFLOPS; a peak that the file gives stays."""
    path = tmp_path / "mine.toml"
    path.write_text('like = "Ascend910B4"\naic_cnt = 10\n')
    assert soc.find(str(path)).peak_fp16_tflops == 122.9
    assert soc.described(str(path))["peak_int8_tops"] == "245.8"
    path.write_text('like = "Ascend910B4"\naic_cnt = 10\npeak_fp16_tflops = 100\n')
    assert soc.cells_of_file(path)["peak_fp16_tflops"] == "100"


def test_the_device_tool_shows_a_chip_of_a_file(tmp_path):
    """What a device holds by itself is that of the chip it is like."""
    path = tmp_path / "mine.toml"
    path.write_text('name = "Mine"\nlike = "Ascend910B4"\n')
    assert machine.own_memory(soc.of_file(path), 0) == machine.own_memory(soc.find("910B4"), 0)


def test_a_file_may_be_a_row_of_the_table(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("soc,like,mem_bw_gbps\nFast,910B3,3200\n")
    assert soc.find(str(path)).memory_gbps == 3200
    assert soc.find(str(path)).family == "910B"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('like = "Ascend999"', "Ascend999"),
        ("cores = 3", "'cores' is no column"),
        ('aic_cnt = "many"', "aic_cnt = 'many' is no number"),
        ('mem_bw_gbps = "fast"', "mem_bw_gbps = 'fast' is no number"),
        ("aic_cnt = -4", "aic_cnt = -4 has to be above 0"),
        ("cube_freq_mhz = 0", "cube_freq_mhz = 0 has to be above 0"),
        ("name = ", "mine.toml"),
    ],
)
def test_a_bad_file_is_named(tmp_path, text, named):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=named):
        soc.find(str(path))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"none\.toml"):
        soc.find(str(tmp_path / "none.toml"))
