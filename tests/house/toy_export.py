"""Export ``lines``: the questions, one on each line."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from groundset.exports.base import Export, Exported
from programs.types import Chunk, Document, Sample


def write_lines(
    samples: Sequence[Sample], chunks: Sequence[Chunk], documents: Sequence[Document], out: Path, *, made_at: datetime
) -> Exported:
    """Write questions.txt."""
    out.mkdir()
    (out / "questions.txt").write_text("".join(f"{sample.question}\n" for sample in samples))
    return Exported(len(samples), len(chunks))


EXPORT = Export("lines", "questions.txt", write_lines)
