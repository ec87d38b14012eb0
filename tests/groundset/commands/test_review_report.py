"""The command `groundset review --report`."""

import json

import pytest
from read_run import CHUNKS, SAMPLES, make_run, say

DOCUMENTS = [CHUNKS["ferry"].model_copy(update={"path": f"doc{number:02}.md"}) for number in range(22)]


@pytest.fixture
def folder(tmp_path):
    return make_run(tmp_path / "run")


def test_report_without_reviews(run, folder):
    ran = run("review", folder, "--report")
    assert (ran.status, ran.out) == (0, "Reviewed 0 of 2 samples.\n")
    found = json.loads(run("review", folder, "--report", "--json").out)
    assert found["samples"]["share"] is None
    assert found["samples"]["unread"] == 2


def test_report_shares_and_agreement(run, folder):
    say(folder, "q-ferry", "good", answer="nine", reader="ann")
    say(folder, "q-mill", "bad", "vague", reader="ann")
    say(folder, "q-mill", "good", reader="bob\x1b[2J")
    say(folder, "2", "good")
    ran = run("review", folder, "--report")
    assert (ran.status, ran.err, "\x1b" in ran.out) == (0, "", False)
    first, evolutions, documents, reviewers, rejects, steps, agreement = ran.out.split("\n\n")
    for part in ("2 samples: 1 (50 %, 9 to 91 %) signed, 1 of them corrected", "disagree on 1.", "Not reviewed: 0."):
        assert part in first
    assert [line.split(maxsplit=3) for line in evolutions.splitlines()] == [
        ["evolution", "signed", "reviewed", "share"],
        ["reasoning", "0", "1", "0 %, 0 to 79 %"],
        ["simple", "1", "1", "100 %, 21 to 100 %"],
    ]
    assert documents.startswith("document  ")
    assert "recipe" not in ran.out, "a single value would repeat the first line"
    assert [line.split(maxsplit=3) for line in reviewers.splitlines()[1:]] == [
        ["ann", "1", "2", "50 %, 9 to 91 %"],
        ["bob\\u001b[2J", "1", "1", "100 %, 21 to 100 %"],
    ]
    assert rejects == "Reviewed 1 reject: 1 (100 %, 21 to 100 %) wrongly refused."
    assert steps.splitlines()[1].split(maxsplit=3) == ["judge", "1", "1", "100 %, 21 to 100 %"]
    assert agreement == "ann and bob\\u001b[2J both reviewed 1 sample and agree on 0.\n"


def test_json_is_one_document(run, folder):
    say(folder, "q-ferry", "good", reader="ann")
    say(folder, "q-ferry", "good", reader="bob")
    ran = run("review", folder, "--report", "--json")
    found = json.loads(ran.out)
    tally = {"signed": 1, "read": 1, "share": 1.0, "low": 0.2065, "high": 1.0}
    assert found["runs"] == [str(folder)]
    assert found["samples"] == {**tally, "corrected": 0, "disputed": 0, "unread": 1}
    assert found["by"]["recipe"] == {"evolved": tally}
    assert found["rejects"] == {"good": 0, "read": 0, "share": None, "low": None, "high": None, "by_step": {}}
    [agreement] = found["agreement"]
    assert agreement == {"readers": ["ann", "bob"], "what": "sample", "both": 1, "same": 1, "kappa": None}


def test_report_limits_rows(run, tmp_path):
    samples = [
        SAMPLES[0].model_copy(update={"id": f"q-{number:02}", "contexts": (chunk,)})
        for number, chunk in enumerate([*DOCUMENTS, DOCUMENTS[21]])
    ]
    folder = make_run(tmp_path / "run", samples)
    for each in samples:
        say(folder, each.id, "good")
    lines = run("review", folder, "--report").out.splitlines()
    at = lines.index("document  signed  reviewed  share")
    assert lines[at + 1].startswith("doc21.md  2")
    assert lines[at + 20].startswith("doc18.md  1")
    assert lines[at + 21].startswith("2 more ")
    assert len(json.loads(run("review", folder, "--report", "--json").out)["by"]["document"]) == 22


def test_narrow_terminal(run_narrow, folder):
    say(folder, "q-ferry", "good")
    say(folder, "q-mill", "bad", "vague")
    lines = run_narrow("review", folder, "--report")
    assert lines[0].startswith("Reviewed 2 samples: 1 (50 %, 9 to 91 %) signed.")


def test_invalid_report_options(run, folder, tmp_path):
    for arguments, message in (
        ((tmp_path, "--report"), "is not the folder of a run"),
        ((folder, folder, "--report"), "is named twice"),
        ((folder, "--report", "--rejects"), "--rejects cannot be used with --report"),
        ((folder, "--report", "--seed", 0), "--seed cannot"),
        ((folder, "--report", "--reader", "ann"), "--reader cannot"),
        ((folder, "--json"), "--json requires --report"),
    ):
        ran = run("review", *arguments)
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert message in ran.err
