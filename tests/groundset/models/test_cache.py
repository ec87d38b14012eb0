import hashlib
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


def test_a_known_hash_is_not_computed_again_until_size_or_time_change(tmp_path):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    assert file_sha256(path) == sha256(b"first")
    then = path.stat().st_mtime_ns
    path.write_bytes(b"other")
    os.utime(path, ns=(then, then))
    assert file_sha256(path) == sha256(b"first"), "same size and time: the record is believed"
    os.utime(path, ns=(then, then + 1))
    assert file_sha256(path) == sha256(b"other")
    path.write_bytes(b"longer")
    os.utime(path, ns=(then, then + 1))
    assert file_sha256(path) == sha256(b"longer")


def test_a_damaged_record_is_ignored(tmp_path, home):
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    file_sha256(path)
    (record,) = (home / "hashes").iterdir()
    record.write_text("{", encoding="utf-8")
    assert file_sha256(path) == sha256(b"first")


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"a file where the folder should be")
    monkeypatch.setenv("GROUNDSET_HOME", str(blocked))
    assert file_sha256(blocked) == sha256(b"a file where the folder should be")
