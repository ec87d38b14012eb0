"""What other tools read of our exports, with their own loaders, in environments of their own (`make test-peers`)."""

import urllib.parse
from typing import Any

import pytest

from groundset.run import Run
from groundset.sets.exports.argilla import reviewer_id
from programs.types import Sample

pytestmark = [pytest.mark.peer, pytest.mark.timeout(200)]


def texts(sample: Sample) -> list[str]:
    return [chunk.text for chunk in sample.contexts]


def relevant(sample: Sample) -> list[str]:
    return [name for group in sample.retrieval_gt for name in group]


def test_ragas(load, content: Run):
    read = load("ragas", "ragas", peer="ragas")
    rows = [
        {
            "user_input": sample.question,
            "reference": sample.answer,
            "reference_contexts": texts(sample),
            "reference_context_ids": [chunk.chunk_id for chunk in sample.contexts],
        }
        for sample in content.samples
    ]
    assert read["evaluation"] == read["converted"] == rows
    hops = ["multi_hop" if number == 2 else "single_hop" for number in range(len(rows))]
    assert [row["synthesizer_name"].removesuffix("_specific_query_synthesizer") for row in read["testset"]] == hops


def test_ragas_0_1(load, content: Run):
    read = load("ragas", "ragas_old", peer="ragas-0.1")
    assert [
        (row["question"], row["contexts"], row["ground_truth"], row["evolution_type"], row["episode_done"])
        for row in read["testset"]
    ] == [(sample.question, texts(sample), sample.answer, sample.evolution, True) for sample in content.samples]
    assert read["testset"][2]["metadata"][1]["filename"] == content.samples[2].contexts[1].path
    assert read["dataset"] == read["testset"]


def test_deepeval(load, content: Run):
    goldens = load("deepeval", "deepeval", peer="deepeval")
    assert [
        (golden["name"], golden["input"], golden["expected_output"], golden["context"], golden["source_file"])
        for golden in goldens
    ] == [
        (sample.id, sample.question, sample.answer, texts(sample), sample.contexts[0].path)
        for sample in content.samples
    ]
    groups = [golden["additional_metadata"]["retrieval_gt"] for golden in goldens]
    assert groups == [[list(group) for group in sample.retrieval_gt] for sample in content.samples]


def test_llamaindex(load, content: Run):
    read = load("llamaindex", "llamaindex", peer="llamaindex")
    assert [
        (example["query"], example["reference_answer"], example["reference_contexts"]) for example in read["examples"]
    ] == [(sample.question, sample.answer, texts(sample)) for sample in content.samples]
    model = "ai (qwen2.5-coder-0.5b)"
    assert read["query_by"] == ["human" if sample.id == "q-3" else model for sample in content.samples]
    assert read["retrieval"] == {
        "queries": {sample.id: sample.question for sample in content.samples},
        "corpus": {chunk.chunk_id: chunk.text for chunk in content.chunks},
        "relevant_docs": {sample.id: relevant(sample) for sample in content.samples},
        "mode": "text",
    }


def test_argilla(load, content: Run):
    read = load("argilla", "argilla", peer="argilla")
    assert (read["name"], read["questions"][0]) == ("groundset-01234567", "verdict")
    records: dict[str, Any] = {record["id"]: record for record in read["records"]}
    assert len(read["records"]) == len(content.samples)
    for sample in content.samples:
        record = records[sample.id]
        assert record["fields"]["question"] == sample.question
        assert record["fields"]["answer"] == sample.answer
        assert all(text in record["fields"]["contexts"] for text in texts(sample))
        assert record["suggestions"]["verdict"] == {"value": "good", "score": 0.75, "agent": "groundset"}
        assert record["metadata"]["retrieval_gt"] == [list(group) for group in sample.retrieval_gt]
    said = {
        name: {(response["value"], response["user_id"]) for response in records["q-3"]["responses"][name]}
        for name in ("verdict", "reason", "mended_question")
    }
    ann, bob = reviewer_id("ann"), reviewer_id("bob")
    assert said == {
        "verdict": {("good", ann), ("bad", bob)},
        "reason": {("dull", bob)},
        "mended_question": {("What does “ann” ask of 渡船?", ann)},
    }
    assert {name for name, record in records.items() if record["status"] == "completed"} == {"q-3", "q-4"}


def test_beir(load, content: Run):
    read = load("beir", "beir", peer="beir")
    assert read["corpus"] == {chunk.chunk_id: {"text": chunk.text, "title": chunk.title} for chunk in content.chunks}
    assert list(read["splits"]) == ["test"]
    assert read["splits"]["test"] == {
        "queries": {sample.id: sample.question for sample in content.samples},
        "qrels": {sample.id: dict.fromkeys(relevant(sample), 1) for sample in content.samples},
    }


def test_trec(load, content: Run):
    read = load("trec", "trec", peer="trec", utf8=True)  # ir_datasets reads topics in the machine's encoding
    unquoted = {urllib.parse.unquote(name): text for name, text in read["docs"].items()}
    assert unquoted == {chunk.chunk_id: chunk.text for chunk in content.chunks}
    assert read["queries"] == {sample.id: " ".join(sample.question.split()) for sample in content.samples}
    assert [(query, urllib.parse.unquote(chunk), grade) for query, chunk, grade in read["qrels"]] == [
        (sample.id, name, 1) for sample in content.samples for name in relevant(sample)
    ]
    assert read["measured"] == {"nDCG@10": 1.0, "R@10": 1.0, "RR": 1.0}


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_tables(load, content: Run, format: str):
    read = load(format, "tables")
    assert [(row["id"], row["question"].removeprefix("'")) for row in read["questions"]] == [
        (sample.id, sample.question) for sample in content.samples
    ]
    assert [row["rank"] for row in read["questions"]] == [sample.retrieval.rank for sample in content.samples]
    assert [row["text"] for row in read["corpus"]] == [chunk.text for chunk in content.chunks]


def test_datasets(load, content: Run):
    read = load("hf", "hf")
    assert [(row["question"], row["contexts"], row["rank"]) for row in read["qa"]["test"]] == [
        (sample.question, texts(sample), sample.retrieval.rank) for sample in content.samples
    ]
    assert [row["text"] for row in read["corpus"]["corpus"]] == [chunk.text for chunk in content.chunks]


def test_sentence_transformers(load, content: Run):
    read = load("triplets", "triplets")
    assert read["columns"][:3] == ["anchor", "positive", "negative_1"]
    pairs = {(row["anchor"], row["positive"]) for rows in read["splits"].values() for row in rows}
    assert pairs == {(sample.question, text) for sample in content.samples for text in texts(sample)}
    assert read["learned"]


def test_adk(load, content: Run):
    turns = load("adk", "adk", peer="adk")
    nothing = {"tool_uses": [], "tool_responses": [], "intermediate_responses": []}
    assert turns == [[sample.question, sample.answer, nothing] for sample in content.samples]
