"""The first seconds of a command."""

import time

from groundset.commands import starting


def test_libraries_that_take_long_are_told_of(capsys, monkeypatch):
    with starting.loading(["generate"]):
        pass
    monkeypatch.setattr(starting, "_PATIENCE_SECONDS", 0.01)
    for arguments in (["generate", "--quiet"], ["generate", "--help"]):
        with starting.loading(arguments):
            time.sleep(0.1)
    assert capsys.readouterr().err == ""
    with starting.loading(["generate"]):
        time.sleep(0.3)
    assert capsys.readouterr().err == "Loading groundset.\n"


def test_a_command_begins_where_it_says(monkeypatch):
    starting.begin()
    before = time.monotonic()
    time.sleep(0.01)
    assert starting.began() <= before
