"""Two tables for spreadsheets: `questions.csv` and `corpus.csv`.

As RFC 4180 has it: commas, double quotes, CR LF at the end of a row; in UTF-8 with a byte order mark, without which
Excel takes it for another encoding. Lists are JSON in their cell; what is missing is an empty cell.

A spreadsheet runs a cell that begins like a formula. So a text whose first visible character is one of ``= + - @``
(in full width too), or that begins with a tab, a line end, a NUL or an apostrophe, gets an apostrophe in front. Whoever
takes one apostrophe off every cell of text that begins with one has the text again.
"""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, chunk_row, question_row

if TYPE_CHECKING:
    from groundset.run import Run

QUESTIONS_FILE, CORPUS_FILE = "questions.csv", "corpus.csv"
_FORMULA = tuple("=+-@＝＋－＠")
_MARKED = ("'", "\t", "\r", "\n", "\0")


def write_csv(run: "Run", folder: Path) -> None:
    """Write both tables."""
    _write(folder / CORPUS_FILE, map(chunk_row, run.chunks))
    _write(folder / QUESTIONS_FILE, map(question_row, run.samples))


def guarded(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula."""
    is_risky = text.startswith(_MARKED) or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if is_risky else text


def _write(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    with file.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        for number, row in enumerate(rows):
            if not number:
                writer.writerow(row)
            writer.writerow(map(_cell, row.values()))


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return guarded(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


EXPORT = Export(
    "csv", "questions.csv and corpus.csv, for spreadsheets", write_csv, (QUESTIONS_FILE, CORPUS_FILE), QUESTIONS_FILE
)
