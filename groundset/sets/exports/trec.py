"""TREC files for search engines: `topics.tsv`, `qrels.txt` and `corpus/chunks.jsonl`.

A topic is an id, a tab and the question on one line: the TREC form that allows any id in Anserini and Pyserini
(``TsvStringTopicReader``), PyTerrier (``read_topics``, ``singleline``) and ir_datasets (``TsvQueries``). Judgements
have the four columns of trec_eval. The corpus is a folder for Anserini's ``JsonCollection``.

These readers split lines at white space (PyTerrier also at colons) and skip lines that begin with ``#``. In ids these
characters, control characters and ``%`` are percent-encoded; ``urllib.parse.unquote`` restores the id.
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
_UNSAFE = re.compile(r"[\s%:#\x00-\x1f\x7f-\x9f]")


def write_trec(run: "Run", folder: Path) -> None:
    """Write topics, judgements and corpus."""
    (folder / CORPUS_FOLDER).mkdir()
    write_rows(
        folder / CORPUS_FOLDER / "chunks.jsonl",
        ({"id": quote_id(chunk.chunk_id), "title": chunk.title, "contents": chunk.text} for chunk in run.chunks),
    )
    _write_lines(
        folder / QRELS_FILE,
        (f"{quote_id(sample.id)} 0 {quote_id(name)} 1" for sample in run.samples for name in relevant_ids(sample)),
    )
    _write_lines(
        folder / TOPICS_FILE, (f"{quote_id(sample.id)}\t{' '.join(sample.question.split())}" for sample in run.samples)
    )


def quote_id(name: str) -> str:
    """Percent-encode the characters of an id at which these readers split a line."""
    return _UNSAFE.sub(lambda match: quote(match[0], safe=""), name)


def _write_lines(file: Path, lines: Iterable[str]) -> None:
    write_text(file, "".join(f"{line}\n" for line in lines))


EXPORT = Export(
    "trec",
    "topics.tsv, qrels.txt and corpus/chunks.jsonl",
    write_trec,
    (TOPICS_FILE, QRELS_FILE, f"{CORPUS_FOLDER}/chunks.jsonl"),
    last=TOPICS_FILE,
)
