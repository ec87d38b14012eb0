"""The formats of other tools, a row of :data:`EXPORTS` each.

A row names the files, what their rows are about, and their columns; the suffix says how a file is
written. The command line, the help and the tests take the rest from the table. Formats that are
more than columns have a module.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from groundset.exports.autorag import passages
from groundset.exports.dataset import records
from groundset.exports.sets import EvaluationSet, relevant_ids
from groundset.exports.tables import File, Row
from groundset.programs.types import COLUMNS, Chunk
from groundset.run.record import question_row, sample_row

QA = "qa"
CORPUS = "corpus"
MLFLOW = "mlflow"


def questions(content: EvaluationSet) -> Iterator[Row]:
    """Yield what is known of each question.

    ``gold`` and ``gold_ids`` are what a search should find, empty if no chunk answers it;
    ``asked_from`` are then the chunks that it was made from.
    """
    for sample in content.samples:
        row = question_row(sample, content.split_of(sample))
        yield row | {
            "answers": [sample.answer, *sample.other_answers],
            "other_answers": sample.other_answers,
            "groups": row["retrieval_gt"] or [[]],
            "context": "\n\n".join(row["contexts"]),
            "gold": row["contexts"] if sample.retrieval_gt else [],
            "gold_ids": row["chunk_ids"] if sample.retrieval_gt else [],
            "asked_from": [] if sample.retrieval_gt else row["chunk_ids"],
            "path": next(iter(row["paths"]), None),
            "provenance": [
                chunk.model_dump(mode="json", exclude={"metadata"}) for chunk in sample.contexts
            ],
        }


def judgements(content: EvaluationSet) -> Iterator[Row]:
    """Yield each question with each chunk of its groups."""
    for sample in content.samples:
        yield from (
            {"id": sample.id, "chunk_id": name, "split": content.split_of(sample)}
            for name in relevant_ids(sample)
        )


def samples(content: EvaluationSet) -> Iterator[Row]:
    """Yield the samples as they are in a run, with their split."""
    return (sample_row(sample) | {"split": content.split_of(sample)} for sample in content.samples)


def chunks(content: EvaluationSet) -> Iterator[Row]:
    """Yield all chunks, as a split of their own."""
    return (chunk.model_dump(mode="json") | {"split": CORPUS} for chunk in content.chunks)


class Export(NamedTuple):
    """An export format."""

    files: Mapping[str, File]
    about: str = ""  # what it is for, for the help, unless the name says it
    splits: bool = True  # whether it distinguishes splits
    write: Callable[[EvaluationSet, Path], None] | None = None  # a function of the user's

    def write_to(self, folder: Path, content: EvaluationSet) -> None:
        """Write a set into an empty folder."""
        for name, file in self.files.items():
            file.write(content, folder, name)
        if self.write:
            self.write(content, folder)


def _one(name: str, columns: Any, about: str = "", *, splits: bool = True) -> Export:
    """Return a format that is one file of questions."""
    return Export({name: File(questions, columns)}, about, splits)


def _adk_turns(row: Row) -> list[Row]:
    return [
        {
            "user_content": {"role": "user", "parts": [{"text": row["question"]}]},
            "final_response": {"role": "model", "parts": [{"text": row["answer"]}]},
        }
    ]


def _adk_set(cases: list[Row]) -> Row:
    return {"eval_set_id": "groundset", "eval_cases": cases}


def _ragas_synthesizer(row: Row) -> str:
    hops = "multi" if len(row["retrieval_gt"]) > 1 else "single"
    return f"{hops}_hop_specific_query_synthesizer"


def _names(text: str) -> tuple[str, ...]:
    """Return columns that are called like their values."""
    return tuple(text.split())


_ABOUT = _names("evolution kind language split retrieval_gt answerable")
_CHUNK = tuple(name for name in Chunk.model_fields if name != "metadata")
_METADATA = {name: name for name in (*_ABOUT, *_names("paths chunk_ids rank probability"))}
_METADATA |= {"answer_variants?": "other_answers", "conversation?": "conversation"}
# Services that trace applications keep what is asked, what is expected, and what else is known, as
# objects each.
_ASKED = {"question": "question"}
_EXPECTED = {"answer": "answer", "contexts": "gold"}

TABLES: Mapping[str, File] = {
    QA: File(
        questions,
        _names(
            "id question answer contexts retrieval_gt answerable conversation evolution kind"
            " language probability rank provenance"
        ),
    ),
    CORPUS: File(chunks, _CHUNK),
}
_ADK_CASE = {"eval_id": "id", "conversation": _adk_turns}
_AUTORAG_QUESTION = {
    "qid": "id",
    "query": "question",
    "retrieval_gt": "groups",
    "generation_gt": "answers",
    "chunk_ids?": "asked_from",
}
_AUTORAG_PASSAGE = {
    "doc_id": "chunk_id",
    "contents": "text",
    "path": "path",
    "start_end_idx": "offsets",
    "metadata": "facts",
}
_BEDROCK_TURN = {
    "prompt": {"content": [{"text": "question"}]},
    "referenceResponses": [{"content": [{"text": "answer"}]}],
}
# As `GenericDataLoader` reads it, without the metadata. Source: Thakur et al., BEIR (2021); package
# beir.
_BEIR_QUERY = {
    "_id": "id",
    "text": "question",
    "metadata": {
        "answer": "answer",
        **{name: name for name in _ABOUT},
        "answers?": "other_answers",
        "chunk_ids?": "asked_from",
    },
}
_BEIR_DOCUMENT = {
    "_id": "chunk_id",
    "title": "title",
    "text": "text",
    "metadata": ("doc_id", "path", "start", "end"),
}
_BEIR_JUDGEMENT = {"query-id": "id", "corpus-id": "chunk_id", "score": 1}
_CSV = _names(
    "id question answer evolution kind language split contexts chunk_ids paths retrieval_gt"
    " answerable conversation rank probability"
)
# As `EvaluationDataset.add_goldens_from_json_file` of DeepEval 4.3.1 reads them.
_GOLDEN = {
    "name": "id",
    "input": "question",
    "expected_output": "answer",
    "context": "gold",
    "source_file": "path",
    "additional_metadata": _METADATA,
}
_SAMPLE = {name: name for name in COLUMNS} | {"split?": "split"}
# A table for the page, which takes the columns in this order, and arguments of
# `create_dataset_item`.
_LANGFUSE = {"input": _ASKED, "expected_output": _EXPECTED, "metadata": _METADATA, "id": "id"}
# `SingleTurnSample` and `Testset` of Ragas 0.4.3, which know no alternatives. Retrieval is measured
# against the contexts.
_RAGAS = {
    "user_input": "question",
    "reference": "answer",
    "reference_contexts": "gold",
    "reference_context_ids": "gold_ids",
    "synthesizer_name": _ragas_synthesizer,
}

EXPORTS: Mapping[str, Export] = {
    # An `EvalSet` of google-adk 2.13.0, which reads what `transform_benchmark.py` of Auto RAG Eval
    # makes as one conversation of all questions.
    "adk": Export(
        {"evaluation.evalset.json": File(questions, _ADK_CASE, _adk_set)},
        "(for the Agent Development Kit)",
        splits=False,
    ),
    "autorag": Export(
        {
            "qa.parquet": File(questions, _AUTORAG_QUESTION),
            "corpus.parquet": File(passages, _AUTORAG_PASSAGE),
        },
        splits=False,
    ),
    # The keys of the README of its generator (GoogleCloudPlatform/generative-ai,
    # `search/auto-rag-eval`).
    "autorageval": _one(
        "benchmark.json",
        {
            "context": "context",
            "Q&A Gen Profile": {"evolution": "evolution", "kind?": "kind"},
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
        {"conversationTurns": [_BEDROCK_TURN]},
        "(for Amazon Bedrock)",
        splits=False,
    ),
    "beir": Export(
        {
            "queries.jsonl": File(questions, _BEIR_QUERY),
            "corpus.jsonl": File(chunks, _BEIR_DOCUMENT),
            "qrels/*.tsv": File(judgements, _BEIR_JUDGEMENT),
        },
    ),
    "csv": Export(
        {"questions.csv": File(questions, _CSV), "corpus.csv": TABLES[CORPUS]},
        "(for spreadsheets)",
    ),
    "deepeval": _one("goldens.json", _GOLDEN),
    "hf": Export(TABLES, "(for load_from_disk of datasets)"),
    # As `json_dataset` of Inspect reads samples.
    "inspect": _one(
        "samples.jsonl",
        {
            "id": "id",
            "input": "question",
            "target": "answer",
            "metadata": {**_METADATA, "contexts": "gold"},
        },
        "(for Inspect AI)",
    ),
    "jsonl": Export(
        {
            "samples.jsonl": File(samples, _SAMPLE),
            "corpus.jsonl": File(chunks, tuple(Chunk.model_fields)),
        },
        "(all that is known)",
    ),
    "langfuse": Export(
        {
            "items.csv": File(questions, _LANGFUSE),
            "items.jsonl": File(questions, _LANGFUSE),
        },
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
    ),
    # As `merge_records` of MLflow 3.17 takes them; `export_run` merges them.
    MLFLOW: Export(
        {"records.jsonl": File(records, ("inputs", "expectations", "tags", "source"))},
        "(an evaluation dataset in the store of --tracking, named like DIR)",
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
            "metadata": _METADATA,
        },
    ),
    # As `Client.datasets.create_dataset` takes examples; the page reads it, too.
    "phoenix": _one(
        "examples.jsonl",
        {
            "id": "id",
            "input": _ASKED,
            "output": _EXPECTED,
            "metadata": _METADATA,
            "splits?": "split",
        },
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
    "ragas": _one("testset.jsonl", _RAGAS, splits=False),
}
