"""Folders appear whole, take the place of older ones in one step, and leave nothing behind."""

import errno
import os
from pathlib import Path

import pytest

from groundset import folders
from groundset.folders import whole_folder
from programs.errors import InputError


def write(target: Path, **files: str) -> None:
    with whole_folder(target, last="z") as folder:
        for name, text in files.items():
            (folder / name).write_text(text)


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_a_folder_is_made_with_those_above_it_and_is_an_ordinary_one(tmp_path):
    write(tmp_path / "new" / "out", a="1", z="2")
    assert held(tmp_path / "new" / "out") == {"a": "1", "z": "2"}
    assert names(tmp_path / "new") == ["out"]
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "file").touch()
    assert (tmp_path / "new" / "out").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert (tmp_path / "new" / "out" / "a").stat().st_mode == (tmp_path / "plain" / "file").stat().st_mode


@pytest.mark.parametrize("number", [None, errno.ENOSYS, errno.EINVAL, errno.EXDEV, errno.EBUSY])
def test_an_older_folder_is_replaced_whatever_the_file_system_can(tmp_path, monkeypatch, number):
    def refuse(first: Path, second: Path) -> None:
        raise OSError(number, os.strerror(number))

    out = tmp_path / "out"
    write(out, a="old", z="old")
    out.chmod(0o750)
    (tmp_path / ".out.x.groundset-part").mkdir()
    (tmp_path / ".out.x.groundset-part" / "a").write_text("left by a killed process")
    if number:
        monkeypatch.setattr(folders, "_exchange", refuse)
    write(out, a="new", z="new")
    assert held(out) == {"a": "new", "z": "new"}
    assert names(tmp_path) == ["out"]
    assert out.stat().st_mode & 0o777 == 0o750


def test_the_working_folder_stays_where_it_is(tmp_path, monkeypatch):
    write(tmp_path, a="old", z="old")
    monkeypatch.chdir(tmp_path)
    before = tmp_path.stat().st_ino
    write(Path(), a="new", z="new")
    assert (held(Path()), tmp_path.stat().st_ino) == ({"a": "new", "z": "new"}, before)


def test_a_link_to_a_folder_stays_a_link(tmp_path):
    write(tmp_path / "real", z="old")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", z="new")
    assert (tmp_path / "link").is_symlink()
    assert held(tmp_path / "real") == {"z": "new"}


@pytest.mark.parametrize("fails", ["fsync", "_exchange"])
def test_what_fails_leaves_the_older_folder_and_nothing_else(tmp_path, monkeypatch, fails):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "out"
    write(out, a="old")
    monkeypatch.setattr(os if fails == "fsync" else folders, fails, refuse)
    with pytest.raises(InputError, match=r"cannot write .*out: No space left on device"):
        write(out, a="new")
    assert (held(out), names(tmp_path)) == ({"a": "old"}, ["out"])
    with pytest.raises(TypeError):
        write(out, a="new", b=None)
    assert (held(out), names(tmp_path)) == ({"a": "old"}, ["out"])


def test_what_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot write .*out: (Not a directory|File exists)"):
        write(tmp_path / "file" / "out", a="1")
