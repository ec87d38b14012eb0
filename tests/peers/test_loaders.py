"""What other tools read of our exports, with their own loaders, in environments of their own (`make
test-peers`).
"""

import pytest

from groundset.exports.sets import relevant_ids

pytestmark = [pytest.mark.peer, pytest.mark.timeout(200)]


def texts(sample):
    return [chunk.text for chunk in sample.contexts]


def test_ragas(load, content):
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
    assert [
        row["synthesizer_name"].removesuffix("_specific_query_synthesizer")
        for row in read["testset"]
    ] == hops


def test_deepeval(load, content):
    goldens = load("deepeval", "deepeval", peer="deepeval")
    names = "name", "input", "expected_output", "context", "source_file"
    assert [[golden[name] for name in names] for golden in goldens] == [
        [sample.id, sample.question, sample.answer, texts(sample), sample.contexts[0].path]
        for sample in content.samples
    ]
    groups = [golden["additional_metadata"]["retrieval_gt"] for golden in goldens]
    assert groups == [[list(group) for group in sample.retrieval_gt] for sample in content.samples]


def test_beir(load, content):
    read = load("beir", "beir", peer="beir")
    assert read["corpus"] == {
        chunk.chunk_id: {"title": chunk.title, "text": chunk.text} for chunk in content.chunks
    }
    assert read["splits"]["test"] == {
        "queries": {sample.id: sample.question for sample in content.samples},
        "qrels": {sample.id: dict.fromkeys(relevant_ids(sample), 1) for sample in content.samples},
    }


def test_tables(load, content):
    read = load("csv", "tables")
    assert [(row["id"], row["question"].removeprefix("'")) for row in read["questions"]] == [
        (sample.id, sample.question) for sample in content.samples
    ]
    assert [row["rank"] for row in read["questions"]] == [
        sample.retrieval.rank for sample in content.samples
    ]
    assert [row["text"] for row in read["corpus"]] == [chunk.text for chunk in content.chunks]


def test_adk(load, content):
    cases = load("adk", "adk", peer="adk")
    assert cases == [[sample.id, sample.question, sample.answer] for sample in content.samples]


@pytest.mark.parametrize("format", ["inspect", "langfuse", "langsmith", "opik", "phoenix"])
def test_services(load, content, format):
    read = load(format, "services", peer="inspect" if format == "inspect" else "services")
    assert read == [
        [sample.id, sample.question, sample.answer, texts(sample)] for sample in content.samples
    ]
