import os
from pathlib import Path

import pytest

from programs import untrusted
from programs.errors import InputError
from programs.untrusted import numbered_lines, opened, small_text


def test_numbered_lines_drop_bom_and_newline(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\xef\xbb\xbfone\r\n\n two")
    assert list(numbered_lines(file)) == [(1, b"one\r"), (2, b""), (3, b" two")]


def test_numbered_lines_limit_line_length(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted, "MAX_ROW", 4)
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"abc\nabcd")
    assert [line for _, line in numbered_lines(file)] == [b"abc", b"abcd"]
    file.write_bytes(b"abc\nabcde")
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2: longer than"):
        list(numbered_lines(file))


def test_devices_and_named_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="is a pipe or a device; name a regular file"):
            list(numbered_lines(file))
    with pytest.raises(IsADirectoryError), opened(tmp_path):
        pass


def test_shell_pipe_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo\n")
    os.close(writing)
    assert list(numbered_lines(Path(f"/dev/fd/{reading}"))) == [(1, b"one"), (2, b"two")]
    os.close(reading)


def test_small_text_limits_size_and_encoding(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_bytes(b"x" * 1_048_577)
    assert len(small_text(file, 2 << 20)) == 1_048_577
    with pytest.raises(InputError, match=r"run\.toml: longer than 1 MB"):
        small_text(file, 1 << 20)
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"run\.toml: not UTF-8 text"):
        small_text(file, 9)
