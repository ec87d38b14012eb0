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
def test_home_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("GROUNDSET_HOME", "~/elsewhere")
    assert cache_home() == Path.home() / "elsewhere"
    monkeypatch.setenv("GROUNDSET_HOME", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_home() == tmp_path / "groundset"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_home() == Path.home() / ".cache" / "groundset"


def test_a_known_hash_is_not_computed_again(tmp_path, monkeypatch):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    assert file_sha256(path) == sha256(b"first")

    def refuse(*_):
        raise AssertionError("hashed again")

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    assert file_sha256(path) == sha256(b"first")
    (tmp_path / "link").symlink_to(path)
    assert file_sha256(tmp_path / "link") == sha256(b"first")


def written(path, then):
    path.write_bytes(b"other")


def swapped(path, then):
    path.with_name("new").write_bytes(b"other")
    path.with_name("new").replace(path)


def moved_away(path, then):
    path.rename(path.with_name("old"))
    path.write_bytes(b"other")


@pytest.mark.parametrize("change", [written, swapped, moved_away])
def test_other_bytes_of_the_same_size_and_time_are_hashed(tmp_path, change):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    then = path.stat().st_mtime_ns
    assert file_sha256(path) == sha256(b"first")
    change(path, then)
    os.utime(path, ns=(then, then))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (5, then)
    assert file_sha256(path) == sha256(b"other")


@pytest.mark.parametrize("key", ["size", "mtime_ns", "ctime_ns", "inode", "device"])
def test_a_record_of_another_file_is_not_believed(tmp_path, home, key):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    file_sha256(path)
    (record,) = (home / "hashes").iterdir()
    told = json.loads(record.read_text())
    record.write_text(json.dumps({**told, "sha256": "0" * 64}))
    assert file_sha256(path) == "0" * 64, "the record is believed as long as its stamp is right"
    record.write_text(json.dumps({**told, "sha256": "0" * 64, key: told[key] + 1}))
    assert file_sha256(path) == sha256(b"first")


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: "{",
        lambda told: "[]",
        lambda told: "null",
        lambda told: "[" * 100_000,
        lambda told: json.dumps({**told, "sha256": None}),
        lambda told: json.dumps({**told, "sha256": "short"}),
        lambda told: json.dumps({key: told[key] for key in told if key != "sha256"}),
    ],
)
def test_a_damaged_record_is_ignored(tmp_path, home, damage):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    file_sha256(path)
    (record,) = (home / "hashes").iterdir()
    record.write_text(damage(json.loads(record.read_text())), encoding="utf-8")
    assert file_sha256(path) == sha256(b"first")


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"a file where the folder should be")
    monkeypatch.setenv("GROUNDSET_HOME", str(blocked))
    assert file_sha256(blocked) == sha256(b"a file where the folder should be")
