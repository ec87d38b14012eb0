import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from groundset.models.cache import cache_home, file_sha256


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.skipif(sys.platform == "win32", reason="names the folders of POSIX systems")
def test_cache_home(monkeypatch, tmp_path):
    monkeypatch.setenv("GROUNDSET_HOME", "~/elsewhere")
    assert cache_home() == Path.home() / "elsewhere"
    monkeypatch.setenv("GROUNDSET_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_home() == tmp_path / "groundset"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_home() == Path.home() / ".cache" / "groundset"


def test_recorded_hash_is_not_computed_again(tmp_path, monkeypatch):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    assert file_sha256(path) == sha256(b"first")

    def refuse(*_):
        raise AssertionError("hashed again")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    assert file_sha256(path) == sha256(b"first")
    (tmp_path / "link").symlink_to(path)
    assert file_sha256(tmp_path / "link") == sha256(b"first")


def write(path):
    path.write_bytes(b"other")


def swap(path):
    path.with_name("new").write_bytes(b"other")
    path.with_name("new").replace(path)


def move_away(path):
    path.rename(path.with_name("old"))
    path.write_bytes(b"other")


@pytest.mark.parametrize("change", [write, swap, move_away])
def test_change_of_the_same_size_and_time_is_detected(tmp_path, change):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    time = path.stat().st_mtime_ns
    assert file_sha256(path) == sha256(b"first")
    change(path)
    os.utime(path, ns=(time, time))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (5, time)
    assert file_sha256(path) == sha256(b"other")


@pytest.mark.parametrize("key", ["size", "mtime_ns", "ctime_ns", "inode", "device"])
def test_record_with_another_stamp_is_ignored(tmp_path, home, key):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    file_sha256(path)
    (file,) = (home / "hashes").iterdir()
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "sha256": "0" * 64}))
    assert file_sha256(path) == "0" * 64, "the record is not used"
    file.write_text(json.dumps({**record, "sha256": "0" * 64, key: record[key] + 1}))
    assert file_sha256(path) == sha256(b"first")


@pytest.mark.parametrize(
    "damage",
    [
        lambda record: "{",
        lambda record: "[]",
        lambda record: "null",
        lambda record: "[" * 100_000,
        lambda record: json.dumps({**record, "sha256": None}),
        lambda record: json.dumps({**record, "sha256": "short"}),
        lambda record: json.dumps({key: record[key] for key in record if key != "sha256"}),
    ],
)
def test_damaged_record_is_ignored(tmp_path, home, damage):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    file_sha256(path)
    (record,) = (home / "hashes").iterdir()
    record.write_text(damage(json.loads(record.read_text())), encoding="utf-8")
    assert file_sha256(path) == sha256(b"first")


def test_unwritable_cache_is_ignored(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"a file where the folder should be")
    monkeypatch.setenv("GROUNDSET_HOME", str(blocked))
    assert file_sha256(blocked) == sha256(b"a file where the folder should be")
