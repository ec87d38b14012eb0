import io

import pytest
from rich.console import Console

from groundset.models.download import ConsoleProgress, SilentProgress, human_size


def run(progress):
    with progress.stage("Downloading [x]", 2_000_000) as report:
        for done in range(0, 2_000_001, 200_000):
            report(done)
    progress.note("done [bold]")


def test_plain_lines_without_a_terminal():
    output = io.StringIO()
    run(ConsoleProgress(Console(file=output, width=20)))
    assert output.getvalue() == "Downloading [x] (2.0 MB)\nDownloading [x]: 100 %\ndone [bold]\n"


def test_bar_on_a_terminal():
    output = io.StringIO()
    run(ConsoleProgress(Console(file=output, width=100, force_terminal=True, color_system=None)))
    assert "Downloading [x]" in output.getvalue()
    assert "2.0/2.0 MB" in output.getvalue()


def test_silent_progress(capsys):
    run(SilentProgress())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("size", "text"),
    [(53, "53 bytes"), (491_400_064, "491.4 MB"), (1_117_320_768, "1.12 GB"), (0, "0 bytes")],
)
def test_human_size(size, text):
    assert human_size(size) == text
