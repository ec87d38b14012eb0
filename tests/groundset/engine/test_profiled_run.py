"""End-to-end runs of the recipe ``profiled`` with a scripted language model."""

import json
from pathlib import Path
from typing import Any

import pytest
from dspy.lm15 import Request, Response
from free_writer import Writer, write_documents
from scripted_run import Encoder, lm_opener

from groundset import commands
from groundset.engine import making
from groundset.engine.config import make_config
from groundset.engine.generation import RunResult, run_generation
from groundset.engine.models import Openers
from programs.errors import EngineError, InputError, RunMismatchError

FORM = {"description": "the form", "values": {"figure": {"description": "a number"}, "date": {"description": "a day"}}}
TABLE = {"parameters": {"Form": FORM}}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "docs")


@pytest.fixture
def profile_file(tmp_path: Path) -> Path:
    file = tmp_path / "own.json"
    file.write_text(json.dumps(TABLE), "utf-8")
    return file


def profiled_run(docs: Path, out: Path, writer: Writer, **options: Any) -> tuple[RunResult, list[Any], Any]:
    given = {"documents": (docs,), "lm": "writer", "parser": "none", "chunk_size": 60, "min_length": 20, **options}
    config = make_config({"recipe": "profiled", **given})
    result = run_generation(config, out, openers=Openers(lm_opener(writer), Encoder))
    rows = [json.loads(line) for line in (out / "samples.jsonl").read_text("utf-8").splitlines()]
    return result, rows, json.loads((out / "run.json").read_text("utf-8"))


def test_samples_have_profiles(docs: Path, tmp_path: Path) -> None:
    writer = Writer()
    result, rows, record = profiled_run(docs, tmp_path / "run", writer, size=6)
    assert result.ending == "complete"
    for row in rows:
        answer, rests_on = writer.known[row["question"]]
        assert (row["evolution"], row["answer"]) == ("profiled", answer)
        assert all(piece in " ".join(context["text"] for context in row["contexts"]) for piece in rests_on)
        assert list(row["metadata"]["profile"]) == ["Type", "Persona", "Scope", "Difficulty"]
        assert row["metadata"]["clue"].startswith("In what year was the ")
        steps = [step["step"] for step in row["trail"]]
        assert steps[:3] == ["chunk", "clues", "relevance"]
        assert steps[-5:-2] == ["ask_profiled", "judge", "fits"]
    assert record["evolutions"] == {"profiled": 6}
    assert record["configuration"]["profile_file"] is None
    assert record["agenda"]["chunks with clues"] == record["chunks"]


def test_recipe_merges_chunks_by_default(docs: Path, tmp_path: Path) -> None:
    counts = {}
    for merge in (None, 1, 3):
        options = {} if merge is None else {"merge": merge}
        _, _, record = profiled_run(docs, tmp_path / str(merge), Writer(), size=1, **options)
        counts[merge] = record["chunks"]
        assert record["configuration"]["merge"] == merge
    assert counts[None] == counts[3] < counts[1]
    assert make_config({"documents": (docs,)}).corpus_options().merge == 1


class Failing(Writer):
    """Fails on the call after a number of them."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self.left = calls
        self.digests: list[str] = []

    def complete(self, request: Request) -> Response:
        self.left -= 1
        if self.left < 0:
            raise EngineError("stopped")
        self.digests.append(repr(request))
        return super().complete(request)


def test_interrupted_run_repeats_no_call_and_makes_the_same_samples(docs: Path, tmp_path: Path) -> None:
    whole = Failing(10**6)
    _, expected, _ = profiled_run(docs, tmp_path / "whole", whole, size=9)
    asked: list[str] = []
    known: dict[str, Any] = {}
    for calls in (1, 3, 7, 10**6):
        writer = Failing(calls)
        writer.known = known
        if calls < 10**6:
            with pytest.raises(EngineError, match="stopped"):
                profiled_run(docs, tmp_path / "run", writer, size=9)
        else:
            _, rows, _ = profiled_run(docs, tmp_path / "run", writer, size=9)
        asked += writer.digests
    assert rows == expected
    assert len(asked) == len(set(asked)) == len(whole.digests)


def test_run_continues_only_with_its_profiles(docs: Path, tmp_path: Path, profile_file: Path) -> None:
    out = tmp_path / "run"
    _, rows, record = profiled_run(docs, out, Writer(), size=2, profile_file=profile_file)
    assert {tuple(row["metadata"]["profile"]) for row in rows} == {("Form",)}
    assert record["configuration"]["profile_file"] == TABLE, "so that run.json repeats the run without the file"
    profile_file.write_text(json.dumps({"parameters": {"Form": {**FORM, "description": "another"}}}), "utf-8")
    for other, named in ((profile_file, r"Form \(\w{12}\)"), (None, "not given")):
        with pytest.raises(RunMismatchError, match=rf"--profile-file Form \(\w{{12}}\) \(now {named}\)"):
            profiled_run(docs, out, Writer(), size=2, profile_file=other)
    config = make_config({"size": 3}, out / "run.json")
    assert run_generation(config, out, openers=Openers(lm_opener(Writer()), Encoder)).ending == "complete"


def test_profile_file_in_a_configuration_is_relative_to_it(docs: Path, tmp_path: Path, profile_file: Path) -> None:
    folder = tmp_path / "settings"
    folder.mkdir()
    profile_file.rename(folder / "own.json")
    (folder / "run.toml").write_text('recipe = "profiled"\nprofile-file = "own.json"\nlm = "writer"\n')
    config = make_config({"documents": (docs,)}, folder / "run.toml")
    assert config.to_dict()["profile_file"] == TABLE
    with pytest.raises(InputError, match="--profile-file: not an option of the recipe single, but of profiled"):
        make_config({"documents": (docs,), "recipe": "single"}, folder / "run.toml")


def test_other_modes_are_refused_before_anything_is_written(docs: Path, tmp_path: Path) -> None:
    for options in ({"mode": "sentence"}, {"lm": "qwen2.5-coder-0.5b"}):
        with pytest.raises(InputError, match=r"^--recipe profiled: mode \w+ does not support it; use --mode free$"):
            profiled_run(docs, tmp_path / "run", Writer(), **options)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("prompt", ["Write clues", "Suggest profiles", "Write a question that fits", "Choose the"])
def test_model_that_cannot_follow_a_prompt_makes_no_samples(docs: Path, tmp_path: Path, prompt: str) -> None:
    result, rows, _ = profiled_run(docs, tmp_path / "run", Writer(deaf_to=prompt), size=2, max_documents=2)
    assert (result.ending, rows) == ("short", [])
    assert "2 samples are missing" in " ".join(result.summary)


def test_command_with_a_server(
    docs: Path,
    tmp_path: Path,
    profile_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    serving: Any,
) -> None:
    def generate(*more: object) -> int:
        shared = (docs, "--out", tmp_path / "run", "--recipe", "profiled", "--parser", "none", "--no-track")
        with pytest.raises(SystemExit) as left:
            commands.main(["generate", *map(str, (*shared, *more))])
        return int(left.value.code or 0)

    def scripted(*arguments: Any, **named: Any) -> RunResult:
        return run_generation(*arguments, **named, openers=Openers(None, Encoder))

    monkeypatch.setattr(making, "run_generation", scripted)
    monkeypatch.setattr(commands.privacy, "set_defaults", lambda **kwargs: None)
    with serving(Writer().answer) as server:
        options = ("--lm", server.spec, "--size", 3, "--profile-file", profile_file, "--profiles", 2, "--top-k", 2)
        assert generate(*options, "--min-length", 50) == 0
    printed = capsys.readouterr()
    assert "Kept 3 of 3 samples (profiled 3)" in printed.out
    rows = [json.loads(line) for line in (tmp_path / "run" / "samples.jsonl").read_text("utf-8").splitlines()]
    assert {row["metadata"]["profile"]["Form"] for row in rows} <= {"figure", "date"}
    profile_file.write_text('{"parameters": {"Form": {"values": {}}}}')
    assert generate("--lm", "openai/x@http://127.0.0.1:9/v1", "--profile-file", profile_file) == 2
    message = capsys.readouterr().err
    assert message == f"groundset: error: --profile-file {profile_file}: parameters.Form.description: missing\n"
