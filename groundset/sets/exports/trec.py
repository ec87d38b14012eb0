"""TREC's files for search engines: `topics.tsv`, `qrels.txt` and the folder `corpus` with `chunks.jsonl`.

Topics are an id, a tab and the question on one line: of the forms that a TREC topic has, the one that keeps ids of any
text in Anserini and Pyserini (``TsvStringTopicReader``), PyTerrier (``read_topics``, ``singleline``) and ir_datasets
(``TsvQueries``); their readers of ``<top>`` want numbers or four fields. Judgements are the four columns of trec_eval.
The corpus is what Anserini's ``JsonCollection`` indexes: a folder of lines with ``id`` and ``contents``.

These readers divide lines at white space, PyTerrier at colons too, and skip what begins with ``#``. So in ids these,
control characters and ``%`` are written as in URLs (``%20``); ``urllib.parse.unquote`` gives the id again.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from groundset.files import write_rows, write_text
from groundset.sets.exports.base import Export, relevant_ids

if TYPE_CHECKING:
    from groundset.run import Run

TOPICS_FILE = "topics.tsv"
QRELS_FILE = "qrels.txt"
CORPUS_FOLDER = "corpus"
_UNFIT = re.compile(r"[\s%:#\x00-\x1f\x7f-\x9f]")


def write_trec(run: "Run", folder: Path) -> None:
    """Write topics, judgements and corpus."""
    (folder / CORPUS_FOLDER).mkdir()
    write_rows(
        folder / CORPUS_FOLDER / "chunks.jsonl",
        ({"id": fit(chunk.chunk_id), "title": chunk.title, "contents": chunk.text} for chunk in run.chunks),
    )
    _write_lines(
        folder / QRELS_FILE,
        (f"{fit(sample.id)} 0 {fit(name)} 1" for sample in run.samples for name in relevant_ids(sample)),
    )
    _write_lines(
        folder / TOPICS_FILE, (f"{fit(sample.id)}\t{' '.join(sample.question.split())}" for sample in run.samples)
    )


def fit(name: str) -> str:
    """Return an id without the characters at which these readers divide a line."""
    return _UNFIT.sub(lambda found: quote(found[0], safe=""), name)


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    write_text(file, "".join(f"{line}\n" for line in lines))


EXPORT = Export(
    "trec",
    "topics.tsv, qrels.txt and corpus/chunks.jsonl",
    write_trec,
    (TOPICS_FILE, QRELS_FILE, f"{CORPUS_FOLDER}/chunks.jsonl"),
    last=TOPICS_FILE,
)
