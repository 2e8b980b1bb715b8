"""Rank tables: what they say, and every mistake named by its field."""

from __future__ import annotations

import copy
import json

import pytest

from npu.hccl.ranktable import BadTable, parse, read


def device(number: int, rank: int, **more: str) -> dict[str, str]:
    return {"device_id": str(number), "device_ip": f"192.168.{rank}.2", "rank_id": str(rank), **more}


def plain() -> dict:
    servers = [{"server_id": f"node{s}", "device": [device(d, 2 * s + d) for d in range(2)]} for s in range(2)]
    return {"status": "completed", "version": "1.0", "server_count": "2", "server_list": servers}


def pods() -> dict:
    table = plain()
    table["version"] = "1.2"
    for s, server in enumerate(table["server_list"]):
        server["host_ip"] = f"10.0.0.{s}"
        for d, entry in enumerate(server["device"]):
            entry["super_device_id"] = str(100 + 2 * s + d)
    table["super_pod_list"] = [{"super_pod_id": "0", "server_list": [{"server_id": "node0"}, {"server_id": "node1"}]}]
    return table


def changed(table: dict, path: list, value: object) -> dict:
    made = copy.deepcopy(table)
    place = made
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return made


def test_members_in_order_of_rank_and_their_net():
    table = parse(plain())
    assert [(m.rank, m.server_id, m.device, m.device_ip) for m in table.members] == [
        (0, "node0", 0, "192.168.0.2"), (1, "node0", 1, "192.168.1.2"), (2, "node1", 0, "192.168.2.2"), (3, "node1", 1, "192.168.3.2")]  # fmt: skip
    assert table.topology("910B").servers == [[0, 1], [2, 3]]
    assert parse(pods()).topology("910_93").one_fabric
    assert not parse(plain()).topology("910_93").one_fabric  # without super-pods servers meet over RoCE


def test_an_address_may_be_left_out_within_one_server_of_a2():
    table = plain()
    table["server_list"] = table["server_list"][:1]
    table["server_count"] = "1"
    for entry in table["server_list"][0]["device"]:
        del entry["device_ip"]
    assert len(parse(table).members) == 2
    with pytest.raises(BadTable) as caught:
        parse(table, "910_93")
    assert (caught.value.code, caught.value.field) == ("EI0017", "server_list[0].device[0].device_ip")


@pytest.mark.parametrize(
    ("path", "value", "code", "field"),
    [
        (["status"], "initializing", "EI0014", "status"),
        (["version"], "2.0", "EI0014", "version"),
        (["version"], None, "EI0017", "version"),
        (["server_count"], "3", "EI0014", "server_count"),
        (["server_list"], {}, "EI0014", "server_list"),
        (["server_list"], None, "EI0017", "server_list"),
        (["server_list", 1, "server_id"], "node0", "EI0014", "server_list[1].server_id"),
        (["server_list", 0, "server_id"], "x" * 65, "EI0014", "server_list[0].server_id"),
        (["server_list", 0, "server_id"], None, "EI0017", "server_list[0].server_id"),
        (["server_list", 1, "device", 0, "rank_id"], 2, "EI0014", "server_list[1].device[0].rank_id"),
        (["server_list", 1, "device", 0, "rank_id"], "7", "EI0014", "rank_id"),
        (["server_list", 1, "device", 0, "rank_id"], None, "EI0017", "server_list[1].device[0].rank_id"),
        (["server_list", 0, "device", 1, "device_id"], "0", "EI0014", "device_id of rank 1"),
        (["server_list", 0, "device", 1, "device_ip"], "nowhere", "EI0014", "server_list[0].device[1].device_ip"),
        (["server_list", 0, "device", 1, "device_ip"], "192.168.0.2", "EI0014", "device_ip of rank 1"),
        (["server_list", 0, "device", 0, "device_port"], "70000", "EI0014", "server_list[0].device[0].device_port"),
        (["server_list", 0, "device"], [], "EI0014", "rank_id"),
        (["super_pod_list"], [], "EI0014", "version"),
    ],
)
def test_mistakes_of_version_1_0(path, value, code, field):
    with pytest.raises(BadTable) as caught:
        parse(changed(plain(), path, value))
    assert (caught.value.code, caught.value.field) == (code, field)
    assert field in str(caught.value)


def test_ranks_of_a_server_may_not_be_interleaved():
    table = plain()
    table["server_list"][0]["device"][1]["rank_id"], table["server_list"][1]["device"][0]["rank_id"] = "2", "1"
    with pytest.raises(BadTable) as caught:
        parse(table)
    assert (caught.value.code, caught.value.field) == ("EI0014", "rank_id")
    assert "one after the other" in caught.value.expected


@pytest.mark.parametrize(
    ("path", "value", "code", "field"),
    [
        (["server_list", 0, "device", 1, "super_device_id"], "", "EI0004", "server_list[0].device[1].super_device_id"),
        (["server_list", 0, "device", 1, "super_device_id"], "100", "EI0014", "super_device_id of rank 1"),
        (["super_pod_list", 0, "server_list"], [{"server_id": "node0"}], "EI0014", "server_list[1].server_id"),
        (["super_pod_list", 0, "super_pod_id"], None, "EI0017", "super_pod_list[0].super_pod_id"),
    ],
)
def test_mistakes_of_version_1_2(path, value, code, field):
    with pytest.raises(BadTable) as caught:
        parse(changed(pods(), path, value), "910_93")
    assert (caught.value.code, caught.value.field) == (code, field)


def test_files_that_are_none(tmp_path):
    path = tmp_path / "table.json"
    with pytest.raises(BadTable, match="not a valid real path"):
        read(str(path))
    path.write_text("{")
    with pytest.raises(BadTable) as caught:
        read(str(path))
    assert caught.value.code == "EI0004"
    path.write_text(json.dumps([1]))
    with pytest.raises(BadTable, match="a JSON object"):
        read(str(path))


def test_the_old_template_is_read():
    devices = [{"device_id": "4", "device_ip": "10.1.1.1"}]
    instances = [{"rank_id": str(r), "server_id": f"s{r}", "devices": devices if r == 0 else [{"device_id": "4", "device_ip": "10.1.1.2"}]}
                 for r in range(2)]  # fmt: skip
    table = parse({"status": "completed", "group_count": "1", "group_list": [{"group_name": "g", "instance_list": instances}]})
    assert table.version == "old" and [m.server for m in table.members] == [0, 1]
