"""Datasets of the Hugging Face library: the questions by split, and the corpus.

`groundset push` writes the same tables as Parquet.
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
DEFAULT_SPLIT = "test"
_SPLIT = re.compile(r"(?!all\b)\w+(\.\w+)*")  # split names valid in `datasets`; "all" means every split
_QA_COLUMNS = (
    "id", "question", "answer", "contexts", "retrieval_gt", "answerable", "conversation", "evolution", "kind",
    "language", "probability", "rank", "provenance",
)  # fmt: skip


def write_hf(run: "Run", folder: Path) -> None:
    """Write a `datasets.DatasetDict` of questions by split, and one of the corpus with a single split."""
    tables = {
        QA: {name: qa_table(samples) for name, samples in by_split(run.samples).items()},
        CORPUS: {CORPUS: corpus_table(run.chunks)},
    }
    from datasets import Dataset, DatasetDict

    with _quiet():
        for name, splits in tables.items():
            DatasetDict({split: Dataset(table) for split, table in splits.items()}).save_to_disk(folder / name)


def by_split(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """Group samples by split, in order of first occurrence; the default split is ``test``."""
    splits: dict[str, list[Sample]] = {}
    for sample in samples:
        name = sample.split or DEFAULT_SPLIT
        if not _SPLIT.fullmatch(name):
            raise InputError(
                f"sample {sample.id}: `datasets` does not support the split name {name!r}; use letters, digits and _, "
                "but not the name all"
            )
        splits.setdefault(name, []).append(sample)
    return splits


def qa_table(samples: Sequence[Sample]) -> Any:
    """Build the Arrow table of questions; `provenance` locates each context."""
    # Arrow ignores keys that are not in the schema.
    rows = (
        {**question_row(sample), "provenance": [chunk_row(chunk) for chunk in sample.contexts]} for sample in samples
    )
    return _table(rows, _QA_COLUMNS)


def corpus_table(chunks: Sequence[Chunk]) -> Any:
    """Build the Arrow table of chunks."""
    return _table(map(chunk_row, chunks), tuple(name for name in Chunk.model_fields if name != "metadata"))


def _table(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Any:
    """Build an Arrow table that carries its `datasets.Features`."""
    import pyarrow as pa
    from datasets import Features

    features: Any = Features.from_arrow_schema(arrow_schema(*columns))
    return pa.Table.from_pylist(list(rows), schema=features.arrow_schema)


@contextmanager
def _quiet() -> Iterator[None]:
    """Disable the progress bars of `datasets`."""
    import datasets

    enabled = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if enabled:
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
