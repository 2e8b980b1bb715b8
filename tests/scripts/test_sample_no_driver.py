"""Story: the toolkit is installed, the driver is not."""

from pathlib import Path

SAMPLE = Path(__file__).parents[2] / "samples" / "no-driver"


def test_the_code_the_message_and_the_cause(start):
    ran = start("python", str(SAMPLE / "run.py"))
    assert ran.code == 0, ran.out + ran.err
    lines = ran.out.splitlines()
    assert "acl.rt.get_device_count (0, 207004)" in lines and "acl.rt.set_device(0) 507018" in lines
    assert any("507018 (public header: 107001), cause no_driver" in line and "no driver is installed" in line for line in lines)
    assert "ERROR driver_missing: CANN 8.3.RC1 is installed, but no driver" in ran.out
    assert "npu-firmware_<version>.run --full" in ran.out and "failed at acl.rt.set_device with 507018" in ran.out


def test_the_headers_code_on_request(start):
    ran = start("python", str(SAMPLE / "run.py"), env={"NPU_ERROR_TABLE": "header"})
    assert ran.code == 0 and "acl.rt.set_device(0) 107001" in ran.out


def test_ten_lines_of_story():
    assert len((SAMPLE / "README.md").read_text().splitlines()) <= 16
