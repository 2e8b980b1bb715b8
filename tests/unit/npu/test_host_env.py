"""The environment of a host: where its paths lead, what its variables may hold."""

import pytest

from npu.host.env import legal, places, rules, spelled, visible


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("/usr/local/Ascend/ascend-toolkit/8.0.0/lib64", ("toolkit", "8.0.0")),
        ("/x/nnrt/6.3.RC2", ("nnrt", "6.3.RC2")),
        ("/usr/local/Ascend/ascend-toolkit/latest/lib64", ("toolkit", "")),
        ("/opt/cann-9.0.0/lib64", ("toolkit", "9.0.0")),
        ("/opt/cann/lib64", ("toolkit", "")),
        ("/usr/local/Ascend/driver/lib64/common", ("driver", "")),
        ("/usr/lib", ("", "")),
    ],
)
def test_a_path_spells_its_install(path, owner):
    assert spelled(path) == owner


def test_entries_are_counted_from_one_and_empty_ones_left_out():
    made = places({"LD_LIBRARY_PATH": ":/a/cann-9.0.0/lib64:", "ASCEND_HOME_PATH": "/a/cann-9.0.0"}, None, None)
    assert [(p.variable, p.entry, p.version, p.exists) for p in made] == [
        ("ASCEND_HOME_PATH", 1, "9.0.0", None),
        ("LD_LIBRARY_PATH", 2, "9.0.0", None),
    ]


@pytest.mark.parametrize(
    ("value", "read", "stopped"),
    [
        ("0,1,2", (0, 1, 2), ""),
        ("1, 2,3", (1,), " 2"),
        ("1,0", (1,), "0"),
        ("0,0", (0,), "0"),
        ("a", (), "a"),
        ("0-3", (), "0-3"),
        ("0,", (0,), ","),
        ("3", (3,), ""),
        ("٣", (), "٣"),
    ],
)
def test_reading_visible_devices_stops_at_the_first_bad_item(value, read, stopped):
    assert visible(value) == (read, stopped)


@pytest.mark.parametrize(
    ("name", "value", "fine"),
    [
        ("ASCEND_GLOBAL_LOG_LEVEL", "3", True),
        ("ASCEND_GLOBAL_LOG_LEVEL", "INFO", False),
        ("HCCL_CONNECT_TIMEOUT", "7200", True),
        ("HCCL_CONNECT_TIMEOUT", "60", False),
        ("ASCEND_MODULE_LOG_LEVEL", "TBE=0:RUNTIME=0", True),
        ("ASCEND_MODULE_LOG_LEVEL", "TBE=0,RUNTIME=0", False),
        ("HCCL_BUFFSIZE", "1", True),
        ("HCCL_BUFFSIZE", "0", False),
        ("HCCL_DETERMINISTIC", "strict", True),
        ("TASK_QUEUE_ENABLE", "", True),
        ("HCCL_CONNECT_TIMEOUT", "1e3", False),
    ],
)
def test_legal_values(name, value, fine):
    assert legal(rules()[name], value) is fine
