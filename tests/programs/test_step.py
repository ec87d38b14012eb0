"""Steps: the table, their demos, and what their states hold."""

import json

import pytest
from refusal import refuses

from groundset import signatures
from groundset.programs.adapter import PLAIN_TEXT
from groundset.programs.errors import StateError
from groundset.programs.step import STEPS, read_demos, step


@pytest.mark.parametrize("name", STEPS)
def test_demos_fit_their_step_and_are_few(name):
    built = step(name)
    assert len(built.demos) <= (12 if name in ("fact", "answer") else 1)
    for demo in built.demos:
        chat = PLAIN_TEXT.format(built.signature, [dict(demo)], {})
        assert set(PLAIN_TEXT.parse(built.signature, chat[2]["content"])) == set(
            built.signature.output_fields
        )


def test_the_signature_of_every_step_has_a_short_name():
    asked = {spec.signature for spec in STEPS.values()}
    assert {getattr(signatures, name) for name in signatures.__all__} == asked


def test_paragraphs_of_instructions_are_not_wrapped():
    lines = step("judge").signature.instructions.splitlines()
    assert [line.split(":")[0] for line in lines[3:]] == ["Independent", "Clear", "Answerable"]
    assert all(line and not line.startswith(" ") for line in lines if line)


def test_a_wrong_demo_names_its_line(tmp_path):
    file = tmp_path / "answer.jsonl"
    for line, problem in (
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"extra": 1}', "no field extra"),
    ):
        file.write_text(json.dumps({"question": "Q?"}) + "\n" + line, "utf-8")
        with refuses(rf"answer\.jsonl, line 2: .*{problem}", StateError):
            read_demos(file, STEPS["answer"].signature)
