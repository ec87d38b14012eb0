"""Export ``lines``: one question per line."""

from pathlib import Path

from groundset.run import Run
from groundset.sets.exports.base import Export


def write_lines(content: Run, folder: Path) -> None:
    """Write questions.txt."""
    (folder / "questions.txt").write_text("".join(f"{sample.question}\n" for sample in content.samples))


EXPORT = Export("lines", "questions.txt", write_lines, ("questions.txt",), last="questions.txt")
