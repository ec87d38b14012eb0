"""Ragas, DeepEval, LlamaIndex and Argilla: what is written for each; `tests/peers` lets them read it themselves."""

import json
import re
from pathlib import Path

import pytest

from groundset.run import Run
from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.argilla import reader_id
from groundset.store.reviews import Review
from programs.types import StepRecord

REQUIREMENTS = sorted((Path(__file__).parents[3] / "peers" / "requirements").glob("*.txt"))
MODEL = {"model_name": "smollm2-135m", "type": "ai"}
READER = {"model_name": "", "type": "human"}


def written(content: Run, format: str, out: Path) -> Path:
    write_set(content, [EXPORTS[format]], out / format)
    return out / format


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="ascii").splitlines()]


def table(file: Path) -> object:
    return json.loads(file.read_text(encoding="ascii"))


def test_ragas_has_a_row_for_each_question_in_both_of_its_schemas(content, chunks, tmp_path):
    folder = written(content, "ragas", tmp_path)
    one, two = lines(folder / "testset.jsonl")
    assert two == {
        "user_input": "What does Clock say?",
        "reference": "That it is “fine”.",
        "reference_contexts": [chunks[1].text, chunks[3].text],
        "reference_context_ids": ["clock-0000", "ferry-0001"],
        "synthesizer_name": "multi_hop_specific_query_synthesizer",
    }
    assert one["synthesizer_name"] == "single_hop_specific_query_synthesizer"
    old = lines(folder / "testset-0.1.jsonl")[1]
    place = {"filename": "clock.md", "title": "Clock", "document_id": "clock", "chunk_id": "clock-0000"}
    assert (old.pop("metadata")[0], old) == (
        place,
        {
            "question": "What does Clock say?",
            "contexts": [chunks[1].text, chunks[3].text],
            "ground_truth": "That it is “fine”.",
            "evolution_type": "simple",
            "episode_done": True,
        },
    )


def test_alternatives_do_not_make_a_question_of_several_passages(content, samples, tmp_path):
    either = samples[0].model_copy(update={"retrieval_gt": (("ferry-0002", "ferry-0001"),)})
    folder = written(content.replace(samples=[either]), "ragas", tmp_path)
    assert lines(folder / "testset.jsonl")[0]["synthesizer_name"] == "single_hop_specific_query_synthesizer"
    folder = written(content.replace(samples=[either]), "llamaindex", tmp_path)
    assert table(folder / "retrieval_dataset.json")["relevant_docs"] == {"q-1": ["ferry-0002", "ferry-0001"]}


def test_deepeval_keeps_what_it_has_no_field_for(content, chunks, tmp_path):
    golden = table(written(content, "deepeval", tmp_path) / "goldens.json")[1]
    assert golden == {
        "name": "q-2",
        "input": "What does Clock say?",
        "expected_output": "That it is “fine”.",
        "context": [chunks[1].text, chunks[3].text],
        "source_file": "clock.md",
        "additional_metadata": {
            "evolution": "simple",
            "kind": None,
            "language": "en",
            "split": None,
            "paths": ["clock.md", "ferry.md"],
            "chunk_ids": ["clock-0000", "ferry-0001"],
            "retrieval_gt": [["clock-0000"], ["ferry-0001"]],
            "rank": 1,
            "probability": 0.9,
        },
    }


def test_llamaindex_holds_the_whole_corpus_and_says_who_wrote_what(content, chunks, tmp_path):
    reviews = [Review(item="q-1", verdict="good", answer="Fine."), Review(item="q-2", verdict="good")]
    told = content.replace(settings={"models": {"lm": {"name": "smollm2-135m"}}}, reviews=reviews)
    folder = written(told, "llamaindex", tmp_path)
    examples = table(folder / "rag_dataset.json")["examples"]
    assert [(each["query_by"], each["reference_answer_by"]) for each in examples] == [(MODEL, READER), (MODEL, MODEL)]
    assert examples[1]["reference_contexts"] == [chunks[1].text, chunks[3].text]
    dataset = table(folder / "retrieval_dataset.json")
    assert dataset["corpus"] == {chunk.chunk_id: chunk.text for chunk in chunks}
    assert dataset["relevant_docs"] == {"q-1": ["ferry-0002"], "q-2": ["clock-0000", "ferry-0001"]}
    unknown = table(written(content, "llamaindex", tmp_path) / "rag_dataset.json")["examples"]
    assert [each["query_by"] for each in unknown] == [None, None]
    for name in ("unknown", "smollm2-135m and unknown"):  # as of a run that was imported, and of one merged with it
        foreign = told.replace(settings={"models": {"lm": {"name": name, "sha256": None}}})
        examples = table(written(foreign, "llamaindex", tmp_path) / "rag_dataset.json")["examples"]
        assert [(each["query_by"], each["reference_answer_by"]) for each in examples] == [(None, READER), (None, None)]


def test_argilla_asks_what_readers_are_asked(content, chunks, tmp_path):
    folder = written(content.replace(identity="0123456789abcdef"), "argilla", tmp_path)
    assert table(folder / ".argilla" / "dataset.json") == {"name": "groundset-01234567"}
    settings = table(folder / ".argilla" / "settings.json")
    names = [each["name"] for part in ("fields", "questions", "metadata") for each in settings[part]]
    assert len(set(names)) == len(names), "Argilla refuses a name that is used twice"
    record = table(folder / "records.json")[1]
    assert set(record["fields"]) == {each["name"] for each in settings["fields"]}
    assert set(record["suggestions"]) <= {each["name"] for each in settings["questions"]}
    assert record["fields"]["contexts"] == f"Clock\n\n{chunks[1].text}\n\n\nFerry\n\n{chunks[3].text}"
    assert record["suggestions"]["verdict"]["score"] == 0.9
    assert record["metadata"]["paths"] == ["clock.md", "ferry.md"]
    assert None not in record["metadata"].values()


def test_argilla_is_not_told_that_a_question_is_good_which_the_critic_refuses(content, samples, tmp_path):
    def said(verdict, question):
        return StepRecord(step="judge", output={"question": question}, probability=0.2, verdict=verdict)

    question = samples[0].question
    trails = [
        (said("bad", question),),
        (said("bad", question), said("good", question)),
        (said("good", question), said("bad", "Which?")),
    ]
    asked = [
        samples[0].model_copy(update={"id": f"q-{number}", "trail": trail, "probability": 0.2})
        for number, trail in enumerate(trails)
    ]
    records = table(written(content.replace(samples=asked), "argilla", tmp_path) / "records.json")
    told = [(each["suggestions"]["verdict"]["value"], each["suggestions"]["verdict"]["score"]) for each in records]
    assert told == [("bad", 0.8), ("good", 0.2), ("good", 0.2)]


def test_argilla_gets_what_readers_said_apart_from_the_records(content, tmp_path):
    reviews = [
        Review(item="q-1", reader="ann", verdict="good", answer="Fine."),
        Review(item="q-1", reader="bob", verdict="bad", reason="dull"),
        Review(item="0", kind="reject", reader="cem", verdict="good"),
        Review(item="refused", reader="dee", verdict="bad"),
    ]
    folder = written(content.replace(reviews=reviews), "argilla", tmp_path)
    assert [record["responses"] for record in table(folder / "records.json")] == [{}, {}]
    [read] = table(folder / "responses.json")
    ann, bob = ({"user_id": reader_id(name), "status": "submitted"} for name in ("ann", "bob"))
    assert read["id"] == "q-1"
    assert read["responses"] == {
        "verdict": [{"value": "good", **ann}, {"value": "bad", **bob}],
        "mended_answer": [{"value": "Fine.", **ann}],
        "reason": [{"value": "dull", **bob}],
    }
    [options] = [
        {option["value"]: option["text"] for option in each["settings"]["options"]}
        for each in table(folder / ".argilla" / "settings.json")["questions"]
        if each["name"] == "reason"
    ]
    assert (options["vague"], options["unsupported"], options["dull"]) == ("vague", "answer wrong", "dull")
    assert table(folder / "readers.json") == [
        {"id": reader_id("ann"), "username": "ann"},
        {"id": reader_id("bob"), "username": "bob"},
    ]


@pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.stem)
def test_every_package_that_reads_an_export_has_its_version_named(file):
    packages = file.read_text(encoding="utf-8").splitlines()
    assert [package for package in packages if not re.fullmatch(r"[\w.-]+==[\w.]+", package)] == []
    assert not [package for package in packages if package.startswith(("torch", "nvidia"))], "gigabytes of it"
