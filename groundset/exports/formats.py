"""`groundset export`: the formats of other tools, a row of :data:`EXPORTS` each.

A row names the files, what their rows are about, and their columns; the suffix says how a file is
written. The command line, the help and the tests take the rest from the table. Formats that are
more than columns have a module.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from groundset.exports.autorag import write_corpus
from groundset.exports.dataset import make_dataset, records
from groundset.exports.sets import EvaluationSet, Shares, joined, other_answers, relevant_ids
from groundset.exports.tables import File, Row, patterns
from groundset.exports.triplets import SPLITS, write_triplets
from groundset.files import check_own, whole_folder
from groundset.options import Options, option
from groundset.printing import say
from groundset.programs.errors import InputError
from groundset.programs.types import Chunk, Sample
from groundset.run.record import question_row, sample_row
from groundset.run.run import open_run
from groundset.tracking import location

QA, CORPUS, MLFLOW = "qa", "corpus", "mlflow"
_RAGAS_ROLES = {"user": "human", "assistant": "ai"}


def questions(found: EvaluationSet) -> Iterator[Row]:
    """Yield what is known of each question.

    ``gold`` and ``gold_ids`` are what a search should find, empty if no chunk answers it;
    ``asked_from`` are then the chunks that it was made from. Without a profile, ``profile`` is
    evolution and kind.
    """
    for sample in found.samples:
        row, profile = question_row(sample, found.split_of(sample)), sample.metadata.get("profile")
        shown = (
            profile
            if isinstance(profile, dict)
            else {name: row[name] for name in ("evolution", "kind")}
        )
        others = other_answers(sample)
        yield row | {
            "answers": [sample.answer, *others],
            "other_answers": others,
            "groups": row["retrieval_gt"] or [[]],
            "context": "\n\n".join(row["contexts"]),
            "gold": row["contexts"] if sample.retrieval_gt else [],
            "gold_ids": row["chunk_ids"] if sample.retrieval_gt else [],
            "asked_from": [] if sample.retrieval_gt else row["chunk_ids"],
            "path": next(iter(row["paths"]), None),
            "profile": {name: value for name, value in shown.items() if value is not None},
            "provenance": [
                chunk.model_dump(mode="json", exclude={"metadata"}) for chunk in sample.contexts
            ],
        }


def conversations(found: EvaluationSet) -> Iterator[Row]:
    """Yield the questions that end a conversation; most tools cannot hold both kinds in one set."""
    return (row for row in questions(found) if row["conversation"])


def judgements(found: EvaluationSet) -> Iterator[Row]:
    """Yield each question with each chunk of its groups."""
    for sample in found.samples:
        yield from (
            {"id": sample.id, "chunk_id": name, "split": found.split_of(sample)}
            for name in relevant_ids(sample)
        )


def samples(found: EvaluationSet) -> Iterator[Row]:
    """Yield the samples as they are in a run, with their split."""
    return (sample_row(sample) | {"split": found.split_of(sample)} for sample in found.samples)


def chunks(found: EvaluationSet) -> Iterator[Row]:
    """Yield all chunks, as a split of their own."""
    return (chunk.model_dump(mode="json") | {"split": CORPUS} for chunk in found.chunks)


class Export(NamedTuple):
    """An export format."""

    files: Mapping[str, File | None]  # the first is moved last
    about: str = ""  # what it is for, for the help, unless the name says it
    splits: bool = False  # whether it distinguishes splits
    write: Callable[[EvaluationSet, Path], None] | None = None  # writes the files that are None

    @property
    def own(self) -> tuple[str, ...]:
        """Return the glob patterns of its files."""
        return tuple(pattern for name in self.files for pattern in patterns(name))

    def write_to(self, folder: Path, found: EvaluationSet) -> None:
        """Write a set into an empty folder."""
        for name, file in self.files.items():
            if file is not None:
                file.write(found, folder, name)
        if self.write:
            self.write(found, folder)


def _one(
    name: str, columns: Any, about: str = "", *, ascii: bool = False, splits: bool = True
) -> Export:
    """Return a format that is one file of questions."""
    return Export({name: File(questions, columns, ascii)}, about, splits)


_ABOUT = ("evolution", "kind", "language", "split", "retrieval_gt", "answerable")
_CHUNK = tuple(name for name in Chunk.model_fields if name != "metadata")
_METADATA = {name: name for name in (*_ABOUT, "paths", "chunk_ids", "rank", "probability")} | {
    "answer_variants?": "other_answers"
}
_GOLDEN = {"name": "id", "context": "gold", "additional_metadata": _METADATA}
# Services that trace applications keep what is asked, what is expected, and what else is known, as
# objects each.
_ASKED = {"question": "question", "conversation?": "conversation"}
_EXPECTED = {"answer": "answer", "contexts": "gold"}
_ITEM = {"input": _ASKED, "expected_output": _EXPECTED, "metadata": _METADATA, "id": "id"}
TABLES: Mapping[str, File] = {
    QA: File(
        questions,
        (
            "id",
            "question",
            "answer",
            "contexts",
            "retrieval_gt",
            "answerable",
            "conversation",
            "evolution",
            "kind",
            "language",
            "probability",
            "rank",
            "provenance",
        ),
    ),
    CORPUS: File(chunks, _CHUNK),
}
EXPORTS: Mapping[str, Export] = {
    # As `transform_benchmark.py` of Auto RAG Eval makes it.
    "adk": _one(
        "evaluation.json",
        {"query": "question", "expected_tool_use": [], "reference": "answer"},
        "(for the Agent Development Kit)",
        splits=False,
    ),
    "autorag": Export(
        {
            "qa.parquet": File(
                questions,
                {
                    "qid": "id",
                    "query": "question",
                    "retrieval_gt": "groups",
                    "generation_gt": "answers",
                    "chunk_ids?": "asked_from",
                },
            ),
            "corpus.parquet": None,
        },
        write=write_corpus,
    ),
    # The keys of the README of its generator (GoogleCloudPlatform/generative-ai,
    # `search/auto-rag-eval`).
    "autorageval": _one(
        "benchmark.json",
        {
            "context": "context",
            "Q&A Gen Profile": "profile",
            "Question": "question",
            "Answer": "answer",
        },
        "(for Auto RAG Eval)",
        splits=False,
    ),
    # The prompts of an evaluation of a knowledge base, which are the same with and without
    # generation.
    "bedrock": _one(
        "prompts.jsonl",
        {
            "conversationTurns": lambda row: [
                {
                    "prompt": {"content": [{"text": row["question"]}]},
                    "referenceResponses": [{"content": [{"text": row["answer"]}]}],
                }
            ]
        },
        "(for Amazon Bedrock)",
        ascii=True,
        splits=False,
    ),
    # As `GenericDataLoader` reads it, without the metadata. Source: Thakur et al., BEIR (2021);
    # package beir.
    "beir": Export(
        {
            "queries.jsonl": File(
                questions,
                {
                    "_id": "id",
                    "text": "question",
                    "metadata": {
                        "answer": "answer",
                        **{name: name for name in _ABOUT},
                        "answers?": "other_answers",
                        "chunk_ids?": "asked_from",
                    },
                },
            ),
            "corpus.jsonl": File(
                chunks,
                {
                    "_id": "chunk_id",
                    "title": "title",
                    "text": "text",
                    "metadata": ("doc_id", "path", "start", "end"),
                },
            ),
            "qrels/*.tsv": File(
                judgements, {"query-id": "id", "corpus-id": "chunk_id", "score": 1}
            ),
        },
        splits=True,
    ),
    "csv": Export(
        {
            "questions.csv": File(
                questions,
                (
                    "id",
                    "question",
                    "answer",
                    "evolution",
                    "kind",
                    "language",
                    "split",
                    "contexts",
                    "chunk_ids",
                    "paths",
                    "retrieval_gt",
                    "answerable",
                    "conversation",
                    "rank",
                    "probability",
                ),
            ),
            "corpus.csv": TABLES[CORPUS],
        },
        "(for spreadsheets)",
        splits=True,
    ),
    # As `EvaluationDataset.add_goldens_from_json_file` of DeepEval 4.3.1 reads them.
    "deepeval": Export(
        {
            "goldens.json": File(
                questions,
                {
                    **_GOLDEN,
                    "input": "question",
                    "expected_output": "answer",
                    "source_file": "path",
                },
            ),
            "conversations.json": File(
                conversations,
                {
                    **_GOLDEN,
                    "scenario": "question",
                    "expected_outcome": "answer",
                    "turns": "conversation",
                },
            ),
        },
        splits=True,
    ),
    "hf": Export(TABLES, "(for load_from_disk of datasets)", splits=True),
    # As `json_dataset` of Inspect reads samples.
    "inspect": _one(
        "samples.jsonl",
        {
            "id": "id",
            "input": "question",
            "target": "answer",
            "metadata": {**_METADATA, "contexts": "gold", "conversation?": "conversation"},
        },
        "(for Inspect AI)",
    ),
    "jsonl": Export(
        {
            "samples.jsonl": File(
                samples, {name: name for name in Sample.model_fields} | {"split?": "split"}
            ),
            "corpus.jsonl": File(chunks, tuple(Chunk.model_fields)),
        },
        "(all that is known)",
        splits=True,
    ),
    # A table for the page, which takes the columns in this order, and arguments of
    # `create_dataset_item`.
    "langfuse": Export(
        {"items.csv": File(questions, _ITEM), "items.jsonl": File(questions, _ITEM, ascii=True)},
        splits=True,
    ),
    # As `Client.create_examples` takes them. `outputs` is the name in its interface and in all
    # versions of its client.
    "langsmith": _one(
        "examples.jsonl",
        {
            "inputs": _ASKED,
            "outputs": _EXPECTED,
            "metadata": {"id": "id", **_METADATA},
            "split?": "split",
        },
        ascii=True,
    ),
    # As `merge_records` of MLflow 3.17 takes them; `export_run` merges them.
    MLFLOW: Export(
        {"records.jsonl": File(records, ("inputs", "expectations", "tags", "source"))},
        "(an evaluation dataset in the store of --tracking, named like DIR)",
        splits=True,
    ),
    # As `Dataset.read_jsonl_from_file` reads it; an `id` would have to be a UUID. Metrics take the
    # value of `context` for what was retrieved, so the gold ones are not called so.
    "opik": _one(
        "items.jsonl",
        {
            "sample_id": "id",
            "input": "question",
            "expected_output": "answer",
            "reference_contexts": "gold",
            "conversation?": "conversation",
            "metadata": _METADATA,
        },
    ),
    # As `Client.datasets.create_dataset` takes examples; the page reads it, too, if lines are those
    # of ASCII.
    "phoenix": _one(
        "examples.jsonl",
        {
            "id": "id",
            "input": _ASKED,
            "output": _EXPECTED,
            "metadata": _METADATA,
            "splits?": "split",
        },
        ascii=True,
    ),
    # Test cases; of a list of texts, promptfoo would make a case each. What to assert is left to
    # `defaultTest`.
    "promptfoo": _one(
        "tests.jsonl",
        {
            "description": "id",
            "metadata": _METADATA,
            "vars": {
                "question": "question",
                "answer": "answer",
                "context": lambda row: "\n\n".join(row["gold"]),
            },
        },
    ),
    # `SingleTurnSample`, `Testset` and `MultiTurnSample` of Ragas 0.4.3, which know no
    # alternatives, and `DataRow` of 0.1.21. Retrieval is measured against the contexts.
    "ragas": Export(
        {
            "testset.jsonl": File(
                questions,
                {
                    "user_input": "question",
                    "reference": "answer",
                    "reference_contexts": "gold",
                    "reference_context_ids": "gold_ids",
                    "synthesizer_name": lambda row: (
                        ("multi" if len(row["retrieval_gt"]) > 1 else "single")
                        + "_hop_specific_query_synthesizer"
                    ),
                },
                ascii=True,
            ),
            "testset-0.1.jsonl": File(
                questions,
                {
                    "question": "question",
                    "contexts": "gold",
                    "ground_truth": "answer",
                    "evolution_type": "evolution",
                    "metadata": lambda row: [
                        {
                            "filename": each["path"],
                            "title": each["title"],
                            "document_id": each["doc_id"],
                            "chunk_id": each["chunk_id"],
                        }
                        for each in row["provenance"]
                    ],
                    "episode_done": True,
                },
                ascii=True,
            ),
            "conversations.jsonl": File(
                conversations,
                {
                    "reference": "answer",
                    "user_input": lambda row: [
                        {
                            "content": each["content"],
                            "type": _RAGAS_ROLES.get(each["role"], each["role"]),
                        }
                        for each in row["conversation"]
                    ],
                },
                ascii=True,
            ),
        }
    ),
    "triplets": Export(
        dict.fromkeys(f"{name}.jsonl" for name in SPLITS),
        "(to train a retriever)",
        splits=True,
        write=write_triplets,
    ),
}


class Exported(NamedTuple):
    """Numbers of exported questions and chunks, 0 if no format includes the corpus; and the folder
    they are in.
    """

    questions: int
    chunks: int
    folder: Path


class ExportOptions(Options):
    """Write runs in the formats of other tools.

    Exports the samples as questions and all chunks as the corpus; several runs are joined. Samples
    that a reviewer refused are left out. Files of an earlier export are replaced; a folder with
    other files, or with some that were changed since, is refused.
    """

    runs: tuple[Path, ...] = option(..., "The folders of runs.", metavar="RUN...", argument=True)
    format: str = option(
        ...,
        "What to write:"
        f" {', '.join(f'{name} {row.about}'.strip() for name, row in EXPORTS.items())}. Several,"
        " separated by commas, get a folder each.",
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
    tracking: str | None = option(
        None, "With mlflow: the store.", metavar="URI", shown="MLFLOW_TRACKING_URI, or your own"
    )
    track_texts: bool = option(
        False, "With mlflow: send questions, answers and passages to a tracking server."
    )


def export(options: ExportOptions) -> None:
    """Export runs and print how much was written."""
    exported = export_run(options)
    chunks = f" and {exported.chunks} chunks" if exported.chunks else ""
    say(f"{exported.questions} questions{chunks}: {options.out}")
    if MLFLOW in options.format:
        say(f"MLflow dataset {options.out.name}: {location(options.tracking)}")


def export_run(options: ExportOptions) -> Exported:
    """Write runs in the formats of other tools, as `groundset export` does.

    ``out`` does not change until all formats are complete.

    Raises:
        InputError: a format or a run does not exist, no chosen format has splits, no sample is
            left, or the folder cannot be written; nothing was written.
        TrackingError: the store of an evaluation dataset failed; nothing was written.
    """
    names = list(dict.fromkeys(name.strip() for name in options.format.split(",")))
    for name in names:
        if name not in EXPORTS:
            raise InputError(f"--format {name}: no such format; choose one of {', '.join(EXPORTS)}")
    if options.splits and not any(EXPORTS[name].splits for name in names):
        owners = ", ".join(name for name, row in EXPORTS.items() if row.splits)
        raise InputError(f"--splits: only for {owners}; omit it or add such a format")
    if (options.tracking or options.track_texts) and MLFLOW not in names:
        raise InputError(
            f"--tracking and --track-texts: only for {MLFLOW}; omit them or add this format"
        )
    folders = {name: options.out if len(names) == 1 else options.out / name for name in names}
    for name, folder in folders.items():
        check_own(folder, EXPORTS[name].own)
    found = joined(
        [open_run(folder) for folder in options.runs], signed=options.signed, shares=options.splits
    )
    with ExitStack() as stack:
        for name, folder in folders.items():
            row = EXPORTS[name]
            row.write_to(
                stack.enter_context(whole_folder(folder, last=next(iter(row.files)), own=row.own)),
                found,
            )
        if MLFLOW in names:
            make_dataset(found, options.out.name, options.tracking, track_texts=options.track_texts)
    has_corpus = any(file.startswith(CORPUS) for name in names for file in EXPORTS[name].files)
    return Exported(len(found.samples), len(found.chunks) if has_corpus else 0, options.out)
