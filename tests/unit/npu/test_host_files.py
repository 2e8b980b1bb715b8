"""Files below a root: links are followed and never lead out of it."""

import os

import pytest

from npu.host.files import Files


def put(root, path, text="x\n"):
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def test_links_are_followed_inside_the_root(tmp_path):
    put(tmp_path, "usr/local/Ascend/cann-9.0.0/lib64/a.so")
    (tmp_path / "usr/local/Ascend/cann").symlink_to("cann-9.0.0")
    (tmp_path / "absolute").symlink_to("/usr/local/Ascend/cann")
    files = Files(tmp_path)
    assert files.real("/absolute/lib64/a.so") == "/usr/local/Ascend/cann-9.0.0/lib64/a.so"
    assert files.exists("/absolute/lib64/a.so") and files.names("/absolute") == ("lib64",)


def test_no_link_leads_out(tmp_path):
    root, secret = tmp_path / "root", tmp_path / "secret"
    secret.write_text("secret")
    root.mkdir()
    (root / "up").symlink_to("../secret")
    (root / "away").symlink_to(str(secret))
    files = Files(root)
    assert files.read("/up") is None and files.read("/away") is None and files.read("/../secret") is None
    assert files.real("/../../etc") == "/etc"


def test_a_small_file_with_a_path_counts_as_the_link_it_stands_for(tmp_path):
    put(tmp_path, "toolkit/8.2.RC1/runtime/version.info", "Version=8.2.0.0.201\n")
    put(tmp_path, "toolkit/latest/runtime", "../8.2.RC1/runtime")
    put(tmp_path, "cann-9.0.0/version", "9\n")
    put(tmp_path, "cann", "cann-9.0.0")
    put(tmp_path, "notes/plain", "cann-9.0.0")
    files = Files(tmp_path)
    assert files.read("/toolkit/latest/runtime/version.info") == "Version=8.2.0.0.201\n"
    assert files.read("/cann/version") == "9\n"
    assert files.real("/notes/plain") == "/notes/plain"


def test_circles_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    files = Files(tmp_path)
    assert files.read("/a/x") is None and not files.exists("/a")


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_noted(tmp_path):
    put(tmp_path, "closed/file")
    (tmp_path / "closed").chmod(0)
    files = Files(tmp_path)
    assert files.read("/closed/file") is None
    assert files.unreadable == [("/closed/file", "Permission denied")]
    (tmp_path / "closed").chmod(0o700)


def test_odd_paths_are_no_error(tmp_path):
    files = Files(tmp_path)
    for path in ("", "/", "//", "a\0b", "x" * 5000, "/" + "a/" * 3000):
        assert files.read(path) is None
