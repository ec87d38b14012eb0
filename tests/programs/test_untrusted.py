import os
from pathlib import Path

import pytest

from programs import untrusted
from programs.errors import InputError
from programs.untrusted import numbered_lines, opened, small_text


def test_lines_come_with_numbers_and_without_mark_and_ends(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"\xef\xbb\xbfone\r\n\n two")
    assert list(numbered_lines(file)) == [(1, b"one\r"), (2, b""), (3, b" two")]


def test_a_line_of_the_longest_length_is_read_and_a_longer_one_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted, "MAX_ROW", 4)
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b"abc\nabcd")
    assert [line for _, line in numbered_lines(file)] == [b"abc", b"abcd"]
    file.write_bytes(b"abc\nabcde")
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2: longer than"):
        list(numbered_lines(file))


def test_what_may_have_no_end_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(InputError, match="is a pipe or a device; name a regular file"):
            list(numbered_lines(file))
    with pytest.raises(IsADirectoryError), opened(tmp_path):
        pass


def test_a_pipe_of_the_shell_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo\n")
    os.close(writing)
    assert list(numbered_lines(Path(f"/dev/fd/{reading}"))) == [(1, b"one"), (2, b"two")]
    os.close(reading)


def test_a_small_text_ends_somewhere(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_bytes(b"x" * 1_048_577)
    assert len(small_text(file, 2 << 20)) == 1_048_577
    with pytest.raises(InputError, match=r"run\.toml: longer than 1 MB"):
        small_text(file, 1 << 20)
    file.write_bytes(b"\xff")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        small_text(file, 9)
