"""`npu-diag bundle`: one archive with facts, logs and profiles, cleaned of secrets."""

import json
import tarfile


def test_a_bundle_holds_facts_logs_and_what_was_given(start, tmp_path):
    log = tmp_path / "ascend" / "log" / "debug" / "plog" / "plog-7_2026.log"
    log.parent.mkdir(parents=True)
    log.write_text(f"[ERROR] APP(7,python):x token=abc123 in {tmp_path}/secret\n")
    prof = tmp_path / "PROF_000001_x" / "npuscope"
    prof.mkdir(parents=True)
    (prof / "meta.json").write_text("{}")
    start("npu-diag", "host", "create", "mixed", "--preset", "mixed")
    ran = start("npu-diag", "bundle", "PROF_000001_x", env={"NPU_HOST": "mixed"})
    assert ran.code == 0 and ran.out.splitlines()[-1] == "written: npu-bundle.tar.gz"
    with tarfile.open(tmp_path / "npu-bundle.tar.gz") as archive:
        held = {m.name.removeprefix("npu-bundle/"): archive.extractfile(m).read().decode() for m in archive.getmembers()}
    assert set(held) == {
        "check.txt",
        "check.json",
        "facts.txt",
        "env.txt",
        "machine.json",
        "log/debug/plog/plog-7_2026.log",
        "profiles/PROF_000001_x/npuscope/meta.json",
    }
    assert json.loads(held["check.json"])["findings"][0]["id"] == "ld_library_path_other_version"
    text = held["log/debug/plog/plog-7_2026.log"]
    assert "abc123" not in text and str(tmp_path) not in text and "/home/user/secret" in text
    again = start("npu-diag", "bundle")
    assert again.code == 2 and "exists already" in again.err
    assert start("npu-diag", "bundle", "absent", "--force").code == 2
