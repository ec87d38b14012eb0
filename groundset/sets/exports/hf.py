"""Datasets of the Hugging Face library: the questions with their splits, and the corpus that they are asked about.

`groundset push` writes the same tables as parquet.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.sets.exports.base import Export, arrow_schema, chunk_row, question_row
from programs.errors import InputError
from programs.types import Chunk, Sample

if TYPE_CHECKING:
    from groundset.run import Run

QA, CORPUS = "qa", "corpus"
NO_SPLIT = "test"
_SPLIT = re.compile(r"(?!all\b)\w+(\.\w+)*")  # what `datasets` takes for one; "all" means every split to it
_QA_COLUMNS = (
    "id", "question", "answer", "contexts", "retrieval_gt", "evolution", "kind", "language", "probability", "rank",
    "provenance",
)  # fmt: skip


def write_hf(run: "Run", folder: Path) -> None:
    """Write a `datasets.DatasetDict` for the questions, by split, and one for the corpus, which is one split."""
    tables = {
        QA: {name: qa_table(samples) for name, samples in by_split(run.samples).items()},
        CORPUS: {CORPUS: corpus_table(run.chunks)},
    }
    from datasets import Dataset, DatasetDict

    with _quiet():
        for name, splits in tables.items():
            DatasetDict({split: Dataset(table) for split, table in splits.items()}).save_to_disk(folder / name)


def by_split(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """Return the questions of each split, in the order in which splits first occur; without a split it is ``test``."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        name = sample.split or NO_SPLIT
        if not _SPLIT.fullmatch(name):
            raise InputError(
                f"sample {sample.id} is in the split {name!r}, which `datasets` does not take; "
                "a name of letters, digits and _, other than all, would do"
            )
        found.setdefault(name, []).append(sample)
    return found


def qa_table(samples: Sequence[Sample]) -> Any:
    """Return the Arrow table of questions; `provenance` says where each context stands."""
    # Arrow takes the columns of the schema alone: a split has a table of its own, and places say what chunks these are.
    rows = (
        {**question_row(sample), "provenance": [chunk_row(chunk) for chunk in sample.contexts]} for sample in samples
    )
    return _table(rows, _QA_COLUMNS)


def corpus_table(chunks: Sequence[Chunk]) -> Any:
    """Return the Arrow table of passages, each with where it stands."""
    return _table(map(chunk_row, chunks), tuple(name for name in Chunk.model_fields if name != "metadata"))


def _table(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Any:
    """Return an Arrow table that carries its `datasets.Features`."""
    import pyarrow as pa
    from datasets import Features

    features: Any = Features.from_arrow_schema(arrow_schema(*columns))
    return pa.Table.from_pylist(list(rows), schema=features.arrow_schema)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep `datasets` from drawing bars."""
    import datasets

    drawn = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if drawn:
            datasets.enable_progress_bars()


EXPORT = Export(
    "hf",
    "qa and corpus for load_from_disk of datasets",
    write_hf,
    tuple(
        f"{name}/{file}"
        for name in (QA, CORPUS)
        for file in ("dataset_dict.json", "*/dataset_info.json", "*/state.json", "*/data-*.arrow")
    ),
    last=QA,
)
