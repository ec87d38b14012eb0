"""Measuring the asking modes of a model on the same passages, with one judge."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from groundset.compiling.labels import label_files
from groundset.engine.config import MODE_FILE, ModeState
from groundset.engine.judging import judge
from groundset.engine.making import make_run
from groundset.files import write_rows, write_text
from groundset.models.specs import parse_spec
from groundset.run import Run
from optimizers.attempts import labelled_chunk
from optimizers.labels import ChunkLabel, read_labels
from optimizers.measures import Interval, share
from optimizers.report import Table
from programs.critics.states import folder_of
from programs.errors import InputError
from programs.modes import MODES
from programs.types import Sample

PASSAGES = 24


class ModeMeasure(NamedTuple):
    """The counts of one mode: passages, samples, and good samples."""

    mode: str
    passages: int
    made: int
    good: int

    @property
    def share(self) -> Interval:
        """Return the share of passages with a good sample, with its Wilson interval."""
        return share(self.good, self.passages)

    def __str__(self) -> str:
        """Return the figures in words."""
        return f"{self.mode} {self.share} ({self.good} good of {self.made} made on {self.passages} passages)"


class ModeReport(NamedTuple):
    """The measured modes of a model, the best first, with the summary and table of a ``CompileReport``."""

    lm: str
    measures: tuple[ModeMeasure, ...]
    ending: str = "complete"

    @property
    def summary(self) -> str:
        """Return the best mode."""
        return f"mode of {self.lm}: {self.measures[0].mode}."

    @property
    def table(self) -> Table:
        """Return the figures of every mode."""
        rows = [(each.mode, str(each.share), str(each.made), str(each.passages)) for each in self.measures]
        return ("mode", "good samples per passage", "samples", "passages"), rows

    @property
    def one_line(self) -> str:
        """Return the best mode, with the share of passages with a good sample in each mode."""
        best, *others = self.measures
        shares = "; ".join(f"{each.mode} {each.share}" for each in others)
        return f"mode: {best.mode} ({best.share} good samples per passage; {shares})"


def measure_modes(
    lm: str,
    judging_lm: str,
    *,
    labels: Sequence[Path] = (),
    passages: int = PASSAGES,
    seed: int = 0,
    out: Path,
    say: Callable[[str], object] = lambda _: None,
) -> tuple[ModeReport, Path]:
    """Generate from labelled passages in every mode, and write the mode with most good samples to ``mode.json``.

    A mode is measured by the share of good dev passages with a good sample, so both high rejection and poor quality
    lower it. Each mode uses its own critic and the states compiled for the model in ``out``. The runs are in
    ``<out>/<model>/modes/``; a repeated call continues them. Ties go to the mode that relies more on rules.

    ``judging_lm`` judges with the critic ``verdict``; it should be a strong model. The ``passages`` are drawn evenly
    from all documents by the seed.

    Raises:
        InputError: there are no good passages, or a run there was made with other options.
        GroundsetError: a model failed; finished calls are kept.
    """
    folder = out / folder_of(parse_spec(lm).name)
    chosen = _passages(read_labels(ChunkLabel, label_files(labels, ChunkLabel)), passages, seed)
    if not chosen:
        raise InputError("mode: there are no good chunks in the split dev to measure with; add some with --labels")
    chunks = folder / "modes" / "passages.jsonl"
    chunks.parent.mkdir(parents=True, exist_ok=True)
    write_rows(chunks, map(_chunk, chosen))
    states = any(file.name != MODE_FILE for file in folder.glob("*.json"))
    measures = []
    for name in MODES:
        say(f"Asking about {len(chosen)} passages in mode {name}")
        options = {"chunks": chunks, "recipe": "single", "size": len(chosen), "lm": lm, "mode": name, "min_length": 1}
        options |= {"compiled": str(out) if states else None, "seed": seed}
        samples = _samples_of(options, folder / "modes" / name)
        rows = [{"question": sample.question, "passage": sample.contexts[0].text} for sample in samples]
        judged = judge("questions", rows, critic="verdict", lm=judging_lm, quiet=True)
        good = sum(row["verdict"] == "good" for row in judged)
        measures.append(ModeMeasure(name, len(chosen), len(rows), good))
        say(str(measures[-1]))
    ranked = tuple(sorted(measures, key=lambda measure: -measure.good))
    figures = f"{'; '.join(map(str, ranked))}, judged by {parse_spec(judging_lm).name}"
    state = ModeState(mode=ranked[0].mode, critic=MODES[ranked[0].mode].critic, measured=figures)
    write_text(folder / MODE_FILE, state.model_dump_json(indent=1) + "\n")
    return ModeReport(lm, ranked), folder / MODE_FILE


def _samples_of(options: Mapping[str, Any], out: Path) -> list[Sample]:
    """Create or continue a run, and return its samples."""
    make_run(options, out, track=False, quiet=True)
    return list(Run(out).samples)


def _passages(labels: Sequence[ChunkLabel], count: int, seed: int) -> list[ChunkLabel]:
    """Return random good passages of the split dev, evenly from all documents."""
    by_document: dict[str, list[ChunkLabel]] = {}
    for label in labels:
        if label.split == "dev" and label.good:
            by_document.setdefault(label.document, []).append(label)
    rng = Random(seed)
    shuffled = [rng.sample(rows, len(rows)) for rows in by_document.values()]
    return list(filter(None, chain.from_iterable(zip_longest(*shuffled))))[:count]


def _chunk(label: ChunkLabel) -> dict[str, object]:
    chunk = labelled_chunk(label)
    row = chunk.model_dump(include={"chunk_id", "doc_id", "headings", "text"})
    return {**row, "title": chunk.title or label.document}
