"""`groundset compile`: what it refuses before minutes are spent."""


def test_unknown_steps_and_files_are_named(run, tmp_path):
    ran = run("compile", "colour", "--out", tmp_path / "out")
    assert ran.status == 2
    assert "colour: no such step to compile; choose of keyphrases, question" in ran.err
    ran = run("compile", "chunk", "--labels", tmp_path / "none.jsonl", "--out", tmp_path / "out")
    assert ran.status == 2
    assert f"--labels {tmp_path / 'none.jsonl'}: no such file." in ran.err


def test_wrong_labels_are_refused_and_nothing_is_written(run, tmp_path):
    file = tmp_path / "mine.jsonl"
    file.write_text('{"id": "c1"}\n', encoding="utf-8")
    ran = run("compile", "all", "--labels", file, "--out", tmp_path / "out")
    assert ran.status == 2
    assert f"{file}, line 1: " in ran.err
    assert not (tmp_path / "out").exists()
