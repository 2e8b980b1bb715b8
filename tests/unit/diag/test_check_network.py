"""Network ports as hccn_tool prints them, PCIe links, disks, what a container was started with: each text gives its verdicts."""

from __future__ import annotations

import pytest

from diag.check import check
from diag.evidence import texts
from diag.evidence.gather import resolved
from diag.seen import together
from diag.verdict import Verdict, do, say

LOOP = """$ for i in {4..7}; do hccn_tool -i $i -link -g; done
link status: UP
link status: DOWN
link status: UP
link status: DOWN
"""
ONE_BY_ONE = """root@node:~# hccn_tool -i 0 -link -g
link status: UP
root@node:~# hccn_tool -i 3 -net_health -g
net health status: Receive timeout
root@node:~# hccn_tool -i 0 -tls -g
dev_id:0, tls switch[0](0:disable, 1:enable), tls alarm time threshold[60]days
root@node:~# hccn_tool -i 1 -tls -g
dev_id:1, tls switch[1](0:disable, 1:enable), tls alarm time threshold[60]days
root@node:~# hccn_tool -i 0 -ping -g address 192.0.2.11
device 0 PING 192.0.2.11
recv seq=0,time=-1.000000ms
3 packets transmitted, 0 received, 100.00% packet loss
"""
FINE = """$ hccn_tool -i 0 -link -g
link status: UP
$ hccn_tool -i 0 -net_health -g
net health status: Success
$ hccn_tool -i 0 -tls -g
dev_id:0, tls switch[0](0:disable, 1:enable)
$ hccn_tool -i 0 -ping -g address 192.0.2.11
device 0 PING 192.0.2.11
3 packets transmitted, 3 received, 0.00% packet loss
"""
CARD = """81:00.0 Processing accelerators: Huawei Technologies Co., Ltd. Device d802 (rev 20)
        LnkCap: Port #0, Speed 16GT/s, Width x16, ASPM not supported
        LnkSta: Speed {speed}GT/s, Width x{width}
82:00.0 Ethernet controller: Another Vendor
        LnkCap: Port #0, Speed 16GT/s, Width x16
        LnkSta: Speed 2.5GT/s, Width x1
"""
RUN = (
    "docker run -it --device /dev/davinci0 --device /dev/davinci{second} --device /dev/davinci_manager --device /dev/devmm_svm "
    "--device /dev/hisi_hdc -v /usr/local/Ascend/driver:/usr/local/Ascend/driver -v /usr/local/dcmi:/usr/local/dcmi "
    "-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi -v /etc/ascend_install.info:/etc/ascend_install.info "
    "-e ASCEND_RT_VISIBLE_DEVICES={ids} image bash\n"
)


def verdicts(text: str) -> dict[str, Verdict]:
    return {v.id: v for v in check(resolved(together(texts.read(text), "text"))).verdicts}


def test_ports_in_a_loop_are_counted_from_its_first() -> None:
    (down,) = verdicts(LOOP).values()
    assert down.id == "port_down" and down.facts["names"] == "NPU 5, 7" and down.facts["first"] == "5"


def test_each_answer_of_a_session_is_judged() -> None:
    found = verdicts(ONE_BY_ONE)
    assert set(found) == {"port_unhealthy", "port_tls_differs", "port_unreachable"}
    assert found["port_unhealthy"].facts == {"names": "NPU 3", "status": "Receive timeout", "first": "3"}
    assert found["port_tls_differs"].facts["on"] == "NPU 1" and found["port_tls_differs"].facts["off"] == "NPU 0"
    assert found["port_unreachable"].facts["peer"] == "192.0.2.11" and found["port_unreachable"].facts["sent"] == 3
    for verdict in found.values():
        assert all("?" not in say(verdict, lang) and do(verdict, lang) for lang in ("en", "zh"))


def test_ports_in_order_say_nothing() -> None:
    assert verdicts(FINE) == {}


@pytest.mark.parametrize(("speed", "width", "times"), [("8", "8", "4"), ("16", "8", "2"), ("2.5", "16", "6.4")])
def test_a_link_below_its_capability_is_told_with_its_factor(speed: str, width: str, times: str) -> None:
    (slow,) = verdicts(CARD.format(speed=speed, width=width)).values()
    assert slow.id == "pcie_link_slow" and slow.facts["times"] == times and slow.facts["address"] == "81:00.0"


def test_a_link_at_its_capability_and_other_vendors_say_nothing() -> None:
    assert not [link for seen in texts.read(CARD.format(speed="16", width="16")) for link in seen.slow_links]


def test_devices_handed_into_a_container_are_counted_anew() -> None:
    found = verdicts(RUN.format(second=3, ids=3))
    assert set(found) == {"visible_devices_beyond"}
    assert found["visible_devices_beyond"].facts["count"] == 2 and found["visible_devices_beyond"].facts["read"] == "none"
    assert verdicts(RUN.format(second=3, ids="0,1")) == {}


def test_a_stub_folder_before_the_driver_is_named() -> None:
    stub, driver = "/opt/toolkit/latest/runtime/lib64/stub", "/usr/local/Ascend/driver/lib64/driver"
    assert verdicts(f"LD_LIBRARY_PATH={stub}:{driver}\n")["stub_folder_first"].facts["folder"] == stub
    assert "stub_folder_first" not in verdicts(f"LD_LIBRARY_PATH={driver}:{stub}\n")


@pytest.mark.parametrize(("numpy", "adapter", "expected"), [("2.1.0", "2.5.1.post1", True), ("1.26.4", "2.5.1.post1", False)])
def test_numpy_2_beside_an_old_cann(numpy: str, adapter: str, expected: bool) -> None:
    found = verdicts(f"torch==2.5.1\ntorch_npu=={adapter}\nnumpy=={numpy}\n")
    assert ("numpy_too_new" in found) is expected


@pytest.mark.parametrize("written", ["0x80E01801", "80E01801", "0x80e01801"])
def test_a_fault_code_is_written_with_one_prefix(written: str) -> None:
    text = f"NPU ID : 0\nHealth Status                  : Alarm\n        Error Code                     : {written}\n"
    assert verdicts(text)["fault_codes"].facts["codes"] == "0x80E01801"


def test_a_file_system_without_room_is_named_and_images_are_not() -> None:
    df = ("Filesystem      Size  Used Avail Use% Mounted on\noverlay         100G  100G     0 100% /\n/dev/sda2  50G  20G  30G  40% /data\n"
          "/dev/loop3       64M   64M     0 100% /snap/core\n")  # fmt: skip
    (full,) = verdicts(df).values()
    assert full.id == "disk_full" and full.facts["mounts"] == "/"
    assert verdicts(df.replace("100G     0 100%", "99G  1.0G  99%")) == {}


@pytest.mark.parametrize(("rate", "full"), [("97", True), ("40", False)])
def test_the_share_of_used_memory_in_an_answer_of_usages(rate: str, full: bool) -> None:
    text = (
        "$ npu-smi info -t usages -i 2\n        NPU ID                         : 2\n        Chip Count                     : 1\n\n"
        f"        HBM Capacity(MB)               : 65536\n        HBM Usage Rate(%)              : {rate}\n"
        "        HBM Bandwidth Usage Rate(%)    : 0\n        Aicore Usage Rate(%)           : 0\n"
        "        Aicpu Usage Rate(%)            : 0\n        Ctrlcpu Usage Rate(%)          : 3\n        Chip ID                        : 0\n"
    )
    found = verdicts(text)
    assert ("memory_full" in found) is full
    assert not full or found["memory_full"].facts["used_share"] == 0.97
