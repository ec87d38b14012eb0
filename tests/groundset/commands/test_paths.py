"""Paths on the command line that are empty, unreadable or unwritable."""

import os

import pytest

import groundset
from groundset.engine.config import read_config_file
from programs.errors import InputError

NEW_FOLDERS = [
    ("generate", "docs"), ("merge", "a", "b"), ("import", "a"), ("sample", "a", "--size", "1"),
    ("split", "a", "--splits", "train=1"), ("drop", "a", "--where", "rank > 1"), ("relabel", "a", "--critic", "head"),
    ("update", "a", "docs"), ("export", "a", "--format", "csv"), ("compile", "judge"),
]  # fmt: skip
NEW_FILES = [
    ("chunk", "docs"), ("judge", "chunks", "a"), ("report", "a"), ("compare", "a", "b"), ("roundtrip", "a"),
    ("labels", "from", "a"), ("show", "a", "--rejects"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "before"),
    [
        (["chunk", "", "--out", "x.jsonl"], "chunk"),
        (["generate", "", "--out", "x"], "generate"),
        (["import", "--out", ""], "--out"),
        (["merge", "a", "b", "--out="], "--out"),
        (["generate", "docs", "--config", "", "--out", "x"], "--config"),
        (["labels", "check", "a", ""], "a"),
        ([""], "groundset"),
    ],
)
def test_empty_argument(run, tmp_path, monkeypatch, arguments, before):
    monkeypatch.chdir(tmp_path)
    ran = run(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"groundset: error: {before}: ")
    assert list(tmp_path.iterdir()) == []


def test_empty_path_from_python_and_config(tmp_path):
    with pytest.raises(groundset.InputError, match=r"^docs: the path is empty; name a file or a folder$"):
        groundset.chunk(["a", ""])
    with pytest.raises(groundset.InputError, match=r"^out: the path is empty"):
        groundset.import_files("a", out="")
    with pytest.raises(groundset.InputError, match=r"^path: the path is empty"):
        groundset.open_run("")
    for text in ('documents = ["a", ""]', 'documents = ""', 'chunks = ""'):
        (tmp_path / "config.toml").write_text(text)
        with pytest.raises(InputError, match="the path of documents or chunks is empty"):
            read_config_file(tmp_path / "config.toml")


@pytest.mark.parametrize("command", [*NEW_FOLDERS, *NEW_FILES], ids=lambda command: command[0])
@pytest.mark.parametrize("where", ["below a file", "with a long name", "without permission"])
def test_unwritable_target_is_refused_first(run, tmp_path, monkeypatch, command, where):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    ending = "" if command in NEW_FOLDERS else ".html" if command[0] in ("report", "compare") else ".jsonl"
    out, message = f"file/x{ending}", "file is a file, not a folder"
    if where == "with a long name":
        out, message = f"new/{'n' * 300}{ending}", "File name too long"
    elif where == "without permission":
        monkeypatch.setattr("os.access", lambda *_: False)
        out, message = f"new/x{ending}", f"{tmp_path} cannot be written"
    ran = run(*command, "--out", out)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("groundset: error: ")
    assert message in ran.err
    assert out.partition("/")[0] in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_pipes_are_refused(run, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for arguments in (
        ("judge", "chunks", pipe, "--out", tmp_path / "out.jsonl"),
        ("generate", tmp_path, "--config", pipe, "--out", tmp_path / "run"),
        ("labels", "check", pipe),
    ):
        ran = run(*arguments)
        assert (ran.status, f"{pipe} is a pipe or a device" in ran.err) == (2, True)
