"""Two tables for spreadsheets: `questions.csv` and `corpus.csv`.

The dialect is RFC 4180: commas, double quotes, CR LF; UTF-8 with a byte order mark, which Excel needs to detect the
encoding. Lists are JSON in their cell; missing values are empty cells.

Spreadsheets execute cells that look like formulas. A text whose first visible character is one of ``= + - @`` (also in
full width), or that begins with a tab, line break, NUL or apostrophe, is therefore prefixed with an apostrophe. To
restore the texts, remove one apostrophe from every text cell that begins with one.
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


def escape_formula(text: str) -> str:
    """Escape a text that a spreadsheet could execute as a formula."""
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
        return escape_formula(value)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


EXPORT = Export(
    "csv", "questions.csv and corpus.csv, for spreadsheets", write_csv, (QUESTIONS_FILE, CORPUS_FILE), QUESTIONS_FILE
)
