"""`groundset export`: the formats of other tools, a row each; long ones have a module of their own.

A new one is a function and a row of :data:`EXPORTS`; the command line, the help and the tests take it from there.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from groundset.files import check_own, whole_folder, write_rows
from groundset.options import Options, option
from groundset.out.autorag import write_autorag
from groundset.out.sets import EvaluationSet, Shares, chunk_row, joined, other_answers, relevant_ids
from groundset.out.triplets import SPLITS, write_triplets
from groundset.printing import say
from groundset.run.record import conversation_of, kind_of, question_row, sample_row
from groundset.run.run import open_run
from programs.errors import InputError
from programs.types import Chunk, Sample

QA, CORPUS = "qa", "corpus"
_WHOLE = "test"  # the split of questions without one
_QA_COLUMNS = (
    "id", "question", "answer", "contexts", "retrieval_gt", "answerable", "conversation", "evolution", "kind",
    "language", "probability", "rank", "provenance",
)  # fmt: skip
# Spreadsheets execute texts that begin like a formula, also in full width, and some behind spaces and what is not seen.
_UNSEEN = "\\s\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
_FORMULA = re.compile(f"['\t\r\n\0]|[{_UNSEEN}]*[=+@＝＋－＠-]")
_GOLDEN_METADATA = (
    "evolution", "kind", "language", "split", "paths", "chunk_ids", "retrieval_gt", "answerable", "rank", "probability",
)  # fmt: skip
_RAGAS_ROLES = {"user": "human", "assistant": "ai"}


class Export(NamedTuple):
    """An export format.

    Attributes:
        write: writes a set into an empty folder.
        files: glob patterns of its files (:func:`groundset.files.check_own`); what the first lies in is moved last.
        about: what it is for, for the help, unless the name says it.
        corpus: whether all chunks are exported.
        splits: whether it distinguishes splits.
    """

    write: Callable[[EvaluationSet, Path], None]
    files: tuple[str, ...]
    about: str = ""
    corpus: bool = True
    splits: bool = False


def write_csv(found: EvaluationSet, folder: Path) -> None:
    """Write two tables for spreadsheets, in the dialect of RFC 4180.

    UTF-8 with a byte order mark, which Excel needs to detect the encoding. Lists are JSON in their cell; missing values
    are empty cells. A text that a spreadsheet could execute, or that begins with an apostrophe, is prefixed with an
    apostrophe. To restore the texts, remove one apostrophe from every text cell that begins with one.
    """
    for name, rows in (("corpus", list(map(chunk_row, found.chunks))), ("questions", list(_questions(found)))):
        with (folder / f"{name}.csv").open("w", encoding="utf-8-sig", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(rows[0])
            writer.writerows(map(_cell, row.values()) for row in rows)


def _questions(found: EvaluationSet) -> Iterator[dict[str, Any]]:
    return (question_row(sample, found.split_of(sample)) for sample in found.samples)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return f"'{value}" if _FORMULA.match(value) else value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def write_beir(found: EvaluationSet, folder: Path) -> None:
    """Write chunks, questions, and the judgements of each split, as BEIR's ``GenericDataLoader`` reads them.

    Every chunk of every group has the judgement 1; the groups, and answers, which BEIR ignores, are in ``metadata``.
    BEIR leaves questions without judgements out of its measures, so unanswerable ones have none.

    Source: Thakur et al., BEIR (2021); package beir.
    """
    write_rows(folder / "corpus.jsonl", map(_corpus_row, found.chunks))
    by_split: dict[str, list[Sample]] = {}
    for sample in found.samples:
        by_split.setdefault(found.split_of(sample) or _WHOLE, []).append(sample)
    (folder / "qrels").mkdir()
    for split, samples in by_split.items():
        with (folder / "qrels" / f"{split}.tsv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
            writer.writerow(("query-id", "corpus-id", "score"))
            writer.writerows((sample.id, name, 1) for sample in samples for name in relevant_ids(sample))
    write_rows(folder / "queries.jsonl", (_query_row(sample, found.split_of(sample)) for sample in found.samples))


def _corpus_row(chunk: Chunk) -> dict[str, Any]:
    metadata = {"doc_id": chunk.doc_id, "path": chunk.path, "start": chunk.start, "end": chunk.end}
    return {"_id": chunk.chunk_id, "title": chunk.title, "text": chunk.text, "metadata": metadata}


def _query_row(sample: Sample, split: str | None) -> dict[str, Any]:
    row, others = question_row(sample, split), other_answers(sample)
    metadata = {name: row[name] for name in ("answer", "evolution", "kind", "language", "retrieval_gt")}
    metadata |= {"answers": others} if others else {}
    if not sample.retrieval_gt:
        metadata |= {"answerable": False, "chunk_ids": [chunk.chunk_id for chunk in sample.contexts], "split": split}
    return {"_id": sample.id, "text": sample.question, "metadata": metadata}


def write_jsonl(found: EvaluationSet, folder: Path) -> None:
    """Write the samples with everything that is known about them, as in a run, and all chunks."""
    write_rows(folder / "corpus.jsonl", (chunk.model_dump(mode="json") for chunk in found.chunks))
    splits = [{"split": found.split_of(sample)} if found.splits else {} for sample in found.samples]
    rows = zip(map(sample_row, found.samples), splits, strict=True)
    write_rows(folder / "samples.jsonl", (row | split for row, split in rows))


def write_hf(found: EvaluationSet, folder: Path) -> None:
    """Write a `datasets.DatasetDict` of questions by split, and one of the corpus with a single split."""
    import datasets

    has_bars = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    for name, tables in hf_tables(found).items():
        splits = {split: datasets.Dataset(table) for split, table in tables.items()}
        datasets.DatasetDict(splits).save_to_disk(folder / name)
    if has_bars:
        datasets.enable_progress_bars()


def hf_tables(found: EvaluationSet) -> dict[str, dict[str, Any]]:
    """Return the Arrow tables of questions by split, and that of the corpus, with features of `datasets`.

    ``provenance`` locates each context. Types do not depend on the values.
    """
    by_split: dict[str, list[dict[str, Any]]] = {}
    for sample in found.samples:
        row = {**question_row(sample, None), "provenance": [chunk_row(chunk) for chunk in sample.contexts]}
        by_split.setdefault(found.split_of(sample) or _WHOLE, []).append(row)
    columns = tuple(name for name in Chunk.model_fields if name != "metadata")
    return {
        QA: {name: _table(rows, _QA_COLUMNS) for name, rows in by_split.items()},
        CORPUS: {CORPUS: _table(map(chunk_row, found.chunks), columns)},
    }


def _table(rows: Iterable[dict[str, Any]], columns: Sequence[str]) -> Any:
    import pyarrow as pa
    from datasets import Features

    text, texts, whole = pa.string(), pa.list_(pa.string()), pa.int64()
    provenance = {**dict.fromkeys(("chunk_id", "doc_id", "path", "title"), text), "headings": texts, "start": whole}
    types = {
        **dict.fromkeys(("contexts", "headings"), texts),
        **dict.fromkeys(("rank", "start", "end"), whole),
        "retrieval_gt": pa.list_(texts),
        "probability": pa.float64(),
        "provenance": pa.list_(pa.struct([*provenance.items(), ("end", whole)])),
        "answerable": pa.bool_(),
        "conversation": pa.list_(pa.struct([("role", text), ("content", text)])),
    }
    features: Any = Features.from_arrow_schema(pa.schema([(name, types.get(name, text)) for name in columns]))
    # Arrow ignores keys that are not in the schema.
    return pa.Table.from_pylist(list(rows), schema=features.arrow_schema)


def write_ragas(found: EvaluationSet, folder: Path) -> None:
    """Write the columns of ``SingleTurnSample`` and ``Testset`` in Ragas 0.4.3, and those of ``DataRow`` in 0.1.21.

    Later versions only distinguish single-hop and multi-hop questions. Neither supports alternatives: the contexts are
    the chunks a question was made from. Ragas measures retrieval against them, so unanswerable questions have none.
    Conversations have the columns of ``MultiTurnSample``, of which an ``EvaluationDataset`` cannot hold both kinds.
    """
    new, old, conversations = [], [], []
    for sample in found.samples:
        reference = sample.contexts if sample.retrieval_gt else ()
        hops = "multi_hop" if len(sample.retrieval_gt) > 1 else "single_hop"
        new.append(
            {
                "user_input": sample.question,
                "reference": sample.answer,
                "reference_contexts": [chunk.text for chunk in reference],
                "reference_context_ids": [chunk.chunk_id for chunk in reference],
                "synthesizer_name": f"{hops}_specific_query_synthesizer",
            }
        )
        old.append(
            {
                "question": sample.question,
                "contexts": [chunk.text for chunk in reference],
                "ground_truth": sample.answer,
                "evolution_type": sample.evolution,
                "metadata": [
                    {"filename": each.path, "title": each.title, "document_id": each.doc_id, "chunk_id": each.chunk_id}
                    for each in sample.contexts
                ],
                "episode_done": True,
            }
        )
        if messages := conversation_of(sample):
            said = [{"content": m["content"], "type": _RAGAS_ROLES.get(m["role"], m["role"])} for m in messages]
            conversations.append({"user_input": said, "reference": sample.answer})
    if conversations:
        _write_lines(folder / "conversations.jsonl", conversations)
    _write_lines(folder / "testset-0.1.jsonl", old)
    _write_lines(folder / "testset.jsonl", new)


def write_deepeval(found: EvaluationSet, folder: Path) -> None:
    """Write what ``EvaluationDataset.add_goldens_from_json_file`` of DeepEval 4.3.1 reads: either kind, not both.

    Values without a field of their own are in ``additional_metadata``. The ``context`` is the ideal one: an
    unanswerable question has none.
    """
    goldens, conversations = [], []
    for sample, row in zip(found.samples, _questions(found), strict=True):
        metadata = {name: row[name] for name in _GOLDEN_METADATA}
        shared = {
            "name": row["id"],
            "context": row["contexts"] if sample.retrieval_gt else [],
            "additional_metadata": metadata | ({"answer_variants": more} if (more := other_answers(sample)) else {}),
        }
        source = {"source_file": row["paths"][0] if row["paths"] else None}
        goldens.append({**shared, "input": row["question"], "expected_output": row["answer"], **source})
        if turns := row["conversation"]:
            said = {"scenario": row["question"], "expected_outcome": row["answer"], "turns": turns}
            conversations.append({**shared, **said})
    if conversations:
        _write_json(folder / "conversations.json", conversations)
    _write_json(folder / "goldens.json", goldens)


def write_autorageval(found: EvaluationSet, folder: Path) -> None:
    """Write the benchmark of Auto RAG Eval (GoogleCloudPlatform/generative-ai, `search/auto-rag-eval`).

    The keys are those of the README of its generator. ``context`` is one text: the chunks of a question in their order.
    Without a profile, its evolution and kind are used instead.
    """
    rows = []
    for sample in found.samples:
        profile = sample.metadata.get("profile")
        shown = profile if isinstance(profile, dict) else {"evolution": sample.evolution, "kind": kind_of(sample)}
        row = {
            "context": "\n\n".join(chunk.text for chunk in sample.contexts),
            "Q&A Gen Profile": {name: value for name, value in shown.items() if value is not None},
        }
        rows.append({**row, "Question": sample.question, "Answer": sample.answer})
    _write_json(folder / "benchmark.json", rows)


def write_adk(found: EvaluationSet, folder: Path) -> None:
    """Write questions with reference answers and no tool use, as `transform_benchmark.py` of Auto RAG Eval does."""
    rows = [{"query": each.question, "expected_tool_use": [], "reference": each.answer} for each in found.samples]
    _write_json(folder / "evaluation.json", rows)


def _write_json(file: Path, value: Any) -> None:
    """Write ASCII, because these tools open files in the encoding of the machine."""
    file.write_text(json.dumps(value, indent=2) + "\n", encoding="ascii", newline="\n")


def _write_lines(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    with file.open("w", encoding="ascii", newline="\n") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


_HF = ("dataset_dict.json", "*/dataset_info.json", "*/state.json", "*/data-*.arrow")
EXPORTS: Mapping[str, Export] = {
    "adk": Export(write_adk, ("evaluation.json",), "(for the Agent Development Kit)", False),
    "autorag": Export(write_autorag, ("qa.parquet", "corpus.parquet")),
    "autorageval": Export(write_autorageval, ("benchmark.json",), "(for Auto RAG Eval)", False),
    "beir": Export(write_beir, ("queries.jsonl", "corpus.jsonl", "qrels/*.tsv"), splits=True),
    "csv": Export(write_csv, ("questions.csv", "corpus.csv"), "(for spreadsheets)", splits=True),
    "deepeval": Export(write_deepeval, ("goldens.json", "conversations.json"), "", False, splits=True),
    "hf": Export(
        write_hf,
        tuple(f"{name}/{file}" for name in (QA, CORPUS) for file in _HF),
        "(for load_from_disk of datasets)",
        splits=True,
    ),
    "jsonl": Export(write_jsonl, ("samples.jsonl", "corpus.jsonl"), "(all that is known)", splits=True),
    "ragas": Export(write_ragas, ("testset.jsonl", "testset-0.1.jsonl", "conversations.jsonl"), "", False),
    "triplets": Export(
        write_triplets, tuple(f"{name}.jsonl" for name in SPLITS), "(to train a retriever)", False, splits=True
    ),
}


class Exported(NamedTuple):
    """Numbers of exported questions and chunks; 0 chunks if no format includes the corpus."""

    questions: int
    chunks: int


class ExportOptions(Options):
    """Write runs in the formats of other tools.

    Exports the samples as questions and all chunks as the corpus; several runs are joined. Samples that a reviewer
    refused are left out. Files of an earlier export are replaced; a folder with other files is refused.
    """

    runs: tuple[Path, ...] = option(..., "The folders of runs.", metavar="RUN...", argument=True)
    format: str = option(
        ...,
        f"What to write: {', '.join(f'{name} {row.about}'.strip() for name, row in EXPORTS.items())}. "
        "Several, separated by commas, get a folder each.",
        metavar="NAME,...",
    )
    out: Path = option(..., "The folder for the files.", metavar="DIR")
    splits: Shares | None = option(
        None,
        "Shares of splits, such as train=0.8,test=0.2; a document is never in two. For "
        + ", ".join(name for name, row in EXPORTS.items() if row.splits)
        + ".",
        metavar="NAME=SHARE,...",
    )
    signed: bool = option(False, "Only samples that a reviewer signed and none refused.")


def export(options: ExportOptions) -> None:
    """Export runs and print how much was written."""
    exported = export_run(options)
    chunks = f" and {exported.chunks} chunks" if exported.chunks else ""
    say(f"{exported.questions} questions{chunks}: {options.out}")


def export_run(options: ExportOptions) -> Exported:
    """Write runs in the formats of other tools, as `groundset export` does.

    ``out`` does not change until all formats are complete.

    Raises:
        InputError: a format or a run does not exist, no chosen format has splits, no sample is left, or the folder
            cannot be written; nothing was written.
    """
    names = list(dict.fromkeys(name.strip() for name in options.format.split(",")))
    for name in names:
        if name not in EXPORTS:
            raise InputError(f"--format {name}: no such format; choose one of {', '.join(EXPORTS)}")
    if options.splits and not any(EXPORTS[name].splits for name in names):
        owners = ", ".join(name for name, row in EXPORTS.items() if row.splits)
        raise InputError(f"--splits: only for {owners}; omit it or add such a format")
    folders = {name: options.out if len(names) == 1 else options.out / name for name in names}
    for name, folder in folders.items():
        check_own(folder, EXPORTS[name].files)
    found = joined([open_run(folder) for folder in options.runs], signed=options.signed, shares=options.splits)
    with ExitStack() as stack:
        for name, folder in folders.items():
            row = EXPORTS[name]
            temporary = stack.enter_context(whole_folder(folder, last=row.files[0].partition("/")[0]))
            check_own(folder, row.files)  # again, now that the folder is locked
            row.write(found, temporary)
    return Exported(len(found.samples), len(found.chunks) if any(EXPORTS[name].corpus for name in names) else 0)
