"""The Ragas, DeepEval, LlamaIndex and Argilla exports; `tests/peers` loads them with these tools."""

import json
from pathlib import Path

from groundset.run import Run
from groundset.sets.exporting import write_set
from groundset.sets.exports import EXPORTS
from groundset.sets.exports.argilla import reviewer_id
from groundset.store.reviews import Review
from programs.types import StepRecord

REQUIREMENTS = sorted((Path(__file__).parents[3] / "peers" / "requirements").glob("*.txt"))
MODEL = {"model_name": "smollm2-135m", "type": "ai"}
READER = {"model_name": "", "type": "human"}


def written(full_run: Run, format: str, out: Path) -> Path:
    write_set(full_run, [EXPORTS[format]], out / format)
    return out / format


def lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="ascii").splitlines()]


def table(file: Path) -> object:
    return json.loads(file.read_text(encoding="ascii"))


def test_ragas_rows(full_run, chunks, tmp_path):
    folder = written(full_run, "ragas", tmp_path)
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


def test_alternatives_do_not_make_a_question_multi_hop(full_run, samples, tmp_path):
    either = samples[0].model_copy(update={"retrieval_gt": (("ferry-0002", "ferry-0001"),)})
    folder = written(full_run.replace(samples=[either]), "ragas", tmp_path)
    assert lines(folder / "testset.jsonl")[0]["synthesizer_name"] == "single_hop_specific_query_synthesizer"
    folder = written(full_run.replace(samples=[either]), "llamaindex", tmp_path)
    assert table(folder / "retrieval_dataset.json")["relevant_docs"] == {"q-1": ["ferry-0002", "ferry-0001"]}


def test_deepeval_golden(full_run, chunks, tmp_path):
    golden = table(written(full_run, "deepeval", tmp_path) / "goldens.json")[1]
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
            "answerable": True,
            "rank": 1,
            "probability": 0.9,
        },
    }


def test_llamaindex_datasets_and_authors(full_run, chunks, tmp_path):
    reviews = [Review(item="q-1", verdict="good", answer="Fine."), Review(item="q-2", verdict="good")]
    reviewed = full_run.replace(settings={"models": {"lm": {"name": "smollm2-135m"}}}, reviews=reviews)
    folder = written(reviewed, "llamaindex", tmp_path)
    examples = table(folder / "rag_dataset.json")["examples"]
    assert [(each["query_by"], each["reference_answer_by"]) for each in examples] == [(MODEL, READER), (MODEL, MODEL)]
    assert examples[1]["reference_contexts"] == [chunks[1].text, chunks[3].text]
    dataset = table(folder / "retrieval_dataset.json")
    assert dataset["corpus"] == {chunk.chunk_id: chunk.text for chunk in chunks}
    assert dataset["relevant_docs"] == {"q-1": ["ferry-0002"], "q-2": ["clock-0000", "ferry-0001"]}
    unknown = table(written(full_run, "llamaindex", tmp_path) / "rag_dataset.json")["examples"]
    assert [each["query_by"] for each in unknown] == [None, None]
    for name in ("unknown", "smollm2-135m and unknown"):  # as of a run that was imported, and of one merged with it
        foreign = reviewed.replace(settings={"models": {"lm": {"name": name, "sha256": None}}})
        examples = table(written(foreign, "llamaindex", tmp_path) / "rag_dataset.json")["examples"]
        assert [(each["query_by"], each["reference_answer_by"]) for each in examples] == [(None, READER), (None, None)]


def test_argilla_settings_match_records(full_run, chunks, tmp_path):
    folder = written(full_run.replace(identity="0123456789abcdef"), "argilla", tmp_path)
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


def test_argilla_suggests_the_verdict_of_the_judge(full_run, samples, tmp_path):
    def judgement(verdict, question):
        return StepRecord(step="judge", output={"question": question}, probability=0.2, verdict=verdict)

    question = samples[0].question
    trails = [
        (judgement("bad", question),),
        (judgement("bad", question), judgement("good", question)),
        (judgement("good", question), judgement("bad", "Which?")),
    ]
    asked = [
        samples[0].model_copy(update={"id": f"q-{number}", "trail": trail, "probability": 0.2})
        for number, trail in enumerate(trails)
    ]
    records = table(written(full_run.replace(samples=asked), "argilla", tmp_path) / "records.json")
    verdicts = [record["suggestions"]["verdict"] for record in records]
    assert [(verdict["value"], verdict["score"]) for verdict in verdicts] == [
        ("bad", 0.8),
        ("good", 0.2),
        ("good", 0.2),
    ]


def test_argilla_responses_are_a_separate_file(full_run, tmp_path):
    reviews = [
        Review(item="q-1", reader="ann", verdict="good", answer="Fine."),
        Review(item="q-1", reader="bob", verdict="bad", reason="dull"),
        Review(item="0", kind="reject", reader="cem", verdict="good"),
        Review(item="refused", reader="dee", verdict="bad"),
    ]
    folder = written(full_run.replace(reviews=reviews), "argilla", tmp_path)
    assert [record["responses"] for record in table(folder / "records.json")] == [{}, {}]
    [read] = table(folder / "responses.json")
    ann, bob = ({"user_id": reviewer_id(name), "status": "submitted"} for name in ("ann", "bob"))
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
        {"id": reviewer_id("ann"), "username": "ann"},
        {"id": reviewer_id("bob"), "username": "bob"},
    ]
