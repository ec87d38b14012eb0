"""Compare a set with real users' questions on the same documents: which of nine methods is better
(the retrievers of `groundset roundtrip` on chunks of 300, 800 and 2,000 characters), and how the
questions are worded.

    python benchmarks/agreement.py DOCS QUESTIONS.jsonl RUN

QUESTIONS.jsonl has `question` and `gold`, a list of `file`, `start` and `end` in DOCS; any one of
them answers. Documents are cut again from the texts of RUN.
"""

import json
import sys
from pathlib import Path

from groundset.agreement import Method, Side, agreement, methods_at, side_of, together
from groundset.printing import say, say_table
from groundset.programs.languages import language_of
from groundset.retrieval.gold import GoldSpan, find_words
from groundset.run.run import Run, open_run
from groundset.searching import answerable, embedder_of

SIZES = (300, 800, 2000)


def real_questions(docs: Path, file: Path, run: Run) -> Side:
    """Return the questions whose gold is found in the documents of a run."""
    documents = {document.path: document for document in run.documents.values()}
    samples, places = [], []
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found = []
        for gold in row["gold"]:
            raw = (docs / gold["file"]).read_text(encoding="utf-8")
            document = documents[gold["file"]]
            if span := find_words(document.text, raw[gold["start"] : gold["end"]]):
                found.append(GoldSpan(document.doc_id, *span))
        if found:
            # Of a sample of this side only question and language count.
            asked = {"question": row["question"], "language": language_of(row["question"])}
            samples.append(run[0].model_copy(update=asked))
            places.append([[[span] for span in found]])
    return Side(samples, places)


def main(docs: Path, file: Path, folder: Path) -> None:
    """Print the tables of MRR and of recall@5."""
    run = open_run(folder)
    ours, theirs = side_of(answerable(run), run.chunks), real_questions(docs, file, run)
    embedder = embedder_of(run)
    methods: list[Method] = []
    for size in SIZES:
        methods += methods_at(size, run, embedder, together(ours, theirs))
    for measure in ("MRR", "recall@5"):
        found = agreement(run, ours, theirs, methods, measure)
        say_table([measure, "the set", "real questions"], found.table())
        for line in found.notes():
            say(line)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
