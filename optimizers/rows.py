"""Annotated rows, labels or gold: files in JSONL, and what no row may break."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from programs.errors import InputError, LabelError
from programs.untrusted import numbered_lines


class Annotated(Protocol):
    """A row that somebody wrote.

    Attributes:
        key: id and annotation pass, which no other row has.
        sources: the documents that it comes from.
        split: where it and every other row of these documents belongs.
    """

    @property
    def key(self) -> tuple[str, int]: ...  # noqa: D102

    @property
    def sources(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def split(self) -> str: ...  # noqa: D102


_Row = TypeVar("_Row", bound=Annotated)


class Problem(NamedTuple):
    """What is wrong with a file; ``line`` counts from 1, 0 for the file as a whole."""

    file: Path
    line: int
    message: str

    def __str__(self) -> str:
        """Return one line that names the place."""
        place = f", line {self.line}" if self.line else ""
        return f"{self.file}{place}: {self.message}"


def valid_rows(
    files: Sequence[Path], parse: Callable[[dict[str, Any]], _Row | str | None]
) -> tuple[list[_Row], list[Problem]]:
    """Return the rows that break no rule, in their order, and what is wrong with the others.

    ``parse`` makes a row of an object or says what is wrong with it; None passes it over. Ids that come twice and
    documents in two splits are found over all files.

    Raises:
        LabelError: a file cannot be read at all.
    """
    sound: list[_Row] = []
    problems: list[Problem] = []
    seen: dict[tuple[str, int], str] = {}
    splits: dict[str, str] = {}
    for file in files:
        found = 0
        for line, value in _objects(file, problems):
            found += 1
            row = parse(value) if isinstance(value, dict) else "not a JSON object"
            if row is None:
                continue
            if isinstance(row, str):
                problems.append(Problem(file, line, row))
                continue
            if row.key in seen:
                problems.append(Problem(file, line, f"id {row.key[0]} was used before ({seen[row.key]})"))
                continue
            seen[row.key] = f"{file.name}, line {line}"
            astray = [name for name in row.sources if splits.setdefault(name, row.split) != row.split]
            if astray:
                message = f"document {astray[0]} is in two splits: {splits[astray[0]]} and {row.split}"
                problems.append(Problem(file, line, message))
                continue
            sound.append(row)
        if not found:
            problems.append(Problem(file, 0, "it holds no rows"))
    return sound, problems


def refuse_problems(problems: Sequence[Problem]) -> None:
    """Raise if there are any.

    Raises:
        LabelError: names the first.
    """
    if problems:
        raise LabelError(f"{problems[0]} (groundset labels check names all {len(problems)})")


def first_fault(error: ValidationError) -> str:
    """Return the first thing that is wrong with a row, with the key that it is about."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = "there is no such key" if first["type"] == "extra_forbidden" else str(first["msg"])
    message = message.removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def _objects(file: Path, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    try:
        for number, line in numbered_lines(file):
            if not line.strip():
                continue
            try:
                yield number, json.loads(line.decode())
            except (ValueError, RecursionError):
                problems.append(Problem(file, number, "not valid JSON in UTF-8"))
    except InputError as error:
        raise LabelError(str(error)) from error
    except OSError as error:
        raise LabelError(f"{file}: {error.strerror or error}") from error
