"""Measurement of asking modes: each asks about the same passages, and one judge decides on the samples."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from groundset.compiling.labels import label_files
from groundset.engine.config import MODE_FILE, ModeState
from groundset.engine.generation import make_run
from groundset.engine.judging import judge
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
    """The counts of one mode: passages, samples, and samples that the judge finds good."""

    mode: str
    passages: int
    made: int
    good: int

    @property
    def share(self) -> Interval:
        """Return the share of passages that gave a good sample, with its Wilson interval."""
        return share(self.good, self.passages)

    def __str__(self) -> str:
        """Return the figures in words."""
        return f"{self.mode} {self.share} ({self.good} good of {self.made} made on {self.passages} passages)"


class ModeReport(NamedTuple):
    """The measured modes of a model, the best first; it has the summary and table of a ``CompileReport``."""

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
        rows = [(found.mode, str(found.share), str(found.made), str(found.passages)) for found in self.measures]
        return ("mode", "good samples a passage", "made", "passages"), rows

    @property
    def one_line(self) -> str:
        """Return the best mode, and how many passages gave a good sample in each."""
        best, *others = self.measures
        shares = "; ".join(f"{found.mode} {found.share}" for found in others)
        return f"mode: {best.mode} ({best.share} of passages give a good sample; {shares})"


def measure_modes(
    lm: str,
    judging_lm: str,
    *,
    labels: Sequence[Path] = (),
    passages: int = PASSAGES,
    seed: int = 0,
    out: Path,
    say: Callable[[str], object] = str,
) -> tuple[ModeReport, Path]:
    """Ask about labelled passages in every mode and write the one that gives most good samples to ``mode.json``.

    A mode is worth the share of good passages of the split dev that give a sample which the judge finds good: one that
    refuses much and one that writes badly both lose. Each mode takes its own critic and whatever was compiled for the
    model in ``out``. The runs lie in ``<out>/<model>/modes/``, so that the same call pays for no call twice. Of modes
    with as many good samples the one that rests on more rules is taken, because it is cheaper.

    ``judging_lm`` judges by the critic ``verdict``: a model is no judge of its own questions unless it is a strong one.
    The ``passages`` come in equal parts from every document, and the seed fixes which.

    Raises:
        InputError: no label calls a passage good, or a run there was made with other options.
        GroundsetError: a model failed; what was done is kept.
    """
    folder = out / folder_of(parse_spec(lm).name)
    chosen = _passages(read_labels(ChunkLabel, label_files(labels, ChunkLabel)), passages, seed)
    if not chosen:
        raise InputError("no label of the split dev calls a passage good, so no mode can be measured")
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
    """Make or continue a run, and return its samples."""
    make_run(options, out, track=False, quiet=True)
    return list(Run(out).samples)


def _passages(labels: Sequence[ChunkLabel], count: int, seed: int) -> list[ChunkLabel]:
    """Return good passages of the split dev, in turns from every document."""
    by_document: dict[str, list[ChunkLabel]] = {}
    for label in labels:
        if label.split == "dev" and label.good:
            by_document.setdefault(label.document, []).append(label)
    chance = Random(seed)
    piles = [chance.sample(pile, len(pile)) for pile in by_document.values()]
    turns = [pile[turn] for turn in range(max(map(len, piles), default=0)) for pile in piles if turn < len(pile)]
    return turns[:count]


def _chunk(label: ChunkLabel) -> dict[str, object]:
    chunk = labelled_chunk(label)
    row = chunk.model_dump(include={"chunk_id", "doc_id", "headings", "text"})
    return {**row, "title": chunk.title or label.document}
