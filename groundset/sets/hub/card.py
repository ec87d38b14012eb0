"""Build the dataset card: front matter for the Hub, and a text for people.

Names come from documents, models and foreign sets. They are escaped: in the front matter by the YAML writer, in the
text by :func:`markdown_text`.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, Template

from groundset import __version__
from groundset.printing import printable
from groundset.run import Run
from groundset.sets.exports.base import kind_of
from groundset.sets.exports.hf import CORPUS, QA, by_split
from groundset.store.lineage import UNKNOWN_MODEL
from groundset.store.quality import estimate_quality
from programs.errors import InputError
from programs.types import Sample

BEGIN, END = "<!-- groundset:begin -->", "<!-- groundset:end -->"
MAIN = "main"
_MAX_NAME = 200  # characters
_MARKUP = re.compile(r"[\\`*_\[\]|~$@<>&#]|(?<=:)//|(?<=www)\.", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_LARGEST = "1M<n<10M"
_ROLES = {
    "lm": "language model",
    "critic_lm": "language model that judges",
    "embedder": "embedding model",
    "parser": "parser",
}


class _Code(str):
    """A validated name in a code block, which is not escaped."""


class Reviews(NamedTuple):
    """Numbers of reviewed samples by verdict, and the percentage signed with its 95 % Wilson interval."""

    read: int
    signed: int
    refused: int
    disputed: int
    share: int
    low: int
    high: int


@dataclass(frozen=True)
class Publication:
    """A run as it is published.

    Attributes:
        run: the published samples and chunks.
        signed: whether it holds only signed samples.
        record: the public part of ``run.json`` (:func:`groundset.sets.hub.push.public_record`).
        reviews: review counts, None without reviews.
        repo: ``owner/name`` on the Hub.
        branch: branch of the repository.
        licence: a licence identifier of the Hub.
    """

    run: Run
    signed: bool
    record: Mapping[str, Any]
    reviews: Reviews | None
    repo: str
    branch: str
    licence: str

    @property
    def name(self) -> str:
        """Return the name of the repository without its owner."""
        return self.repo.partition("/")[2]


def data_file(config: str, split: str) -> str:
    """Return the path of the Parquet file of a split in the repository."""
    return f"data/{config}/{split}-00000-of-00001.parquet"


def front_matter(publication: Publication) -> dict[str, Any]:
    """Build the metadata for the Hub."""
    run = publication.run
    splits = {QA: list(by_split(run.samples)), CORPUS: [CORPUS]}
    written = _written(publication.record.get("models") or {})
    size = next((name for limit, name in _SIZES if len(run.samples) < limit), _LARGEST)
    return {
        "license": publication.licence,
        "language": [code for code in _counted(s.language for s in run.samples) if _LANGUAGE.fullmatch(code)],
        "size_categories": [size],
        "task_categories": ["question-answering", "text-retrieval"],
        "tags": ["rag", "evaluation", *(["synthetic"] if written else []), "groundset"],
        "pretty_name": publication.name,
        "configs": [
            {
                "config_name": config,
                **({"default": True} if config == QA else {}),
                "data_files": [{"split": split, "path": data_file(config, split)} for split in names],
            }
            for config, names in splits.items()
        ],
    }


def card_body(publication: Publication) -> str:
    """Build the text of the card, between its markers."""
    run, record = publication.run, publication.record
    models = record.get("models") or {}
    critics = record.get("compiled") or {}
    quality = estimate_quality(critics, run.samples)
    splits = by_split(run.samples)
    body = _template().render(
        card=publication,
        splits=[_split_row(name, samples) for name, samples in splits.items()],
        first=next(iter(splits)),
        languages=_listed(sample.language for sample in run.samples),
        questions=len(run.samples),
        unanswerable=sum(not sample.answerable for sample in run.samples),
        passages=len(run.chunks),
        documents=len(run.documents),
        lineage=record.get("lineage"),
        recipe=(record.get("configuration") or {}).get("recipe"),
        attempts=record.get("attempts"),
        models=[
            (role, models[key].get("name") or "", models[key].get("sha256") or "")
            for key, role in _ROLES.items()
            if key in models
        ],
        written=_written(models),
        critic=(models.get("critic") or {}).get("name"),
        critics=[(step, *_figures(state)) for step, state in critics.items()],
        licences={step: ", ".join(state["licences"]) for step, state in critics.items() if state.get("licences")},
        quality=quality,
        expected=quality and _percent(quality.share, quality.low, quality.high),
        main=MAIN,
        version=__version__,
    )
    return f"{BEGIN}\n{body.strip()}\n{END}\n"


def markdown_text(value: object) -> str:
    """Escape a value for Markdown, on one line of limited length."""
    text = printable(" ".join(str(value).split()))
    return _MARKUP.sub(_escaped, text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 1] + "…")


def _escaped(match: re.Match[str]) -> str:
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "//": "\\/\\/"}
    return entities.get(match[0], f"\\{match[0]}")


def _template() -> Template:
    """Load the template of the card, which escapes all values except code."""
    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, _Code) else markdown_text(value),
    )
    environment.filters["code"] = _Code
    return environment.from_string(Path(__file__).with_name("card.md.jinja").read_text(encoding="utf-8"))


def _split_row(name: str, samples: Sequence[Sample]) -> tuple[str, int, str, str]:
    kinds = (kind_of(sample) for sample in samples)
    return name, len(samples), _listed(sample.evolution for sample in samples), _listed(kind for kind in kinds if kind)


def _counted(names: Iterable[str]) -> dict[str, int]:
    """Count names, the most frequent first."""
    return dict(sorted(Counter(names).items(), key=lambda item: (-item[1], item[0])))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in _counted(names).items())


def _written(models: Mapping[str, Any]) -> str:
    """Describe the questions written by a language model; empty if no model is known."""
    names = set((models.get("lm") or {}).get("name", UNKNOWN_MODEL).split(" and "))
    if names == {UNKNOWN_MODEL}:
        return ""
    return "some of the questions" if UNKNOWN_MODEL in names else "the questions"


def _figures(state: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return model and optimizer, threshold, and precision of a compiled step, as far as known."""
    compiled = f"{state.get('model', '')} by {state.get('optimizer', '')}"
    threshold = state.get("threshold")
    precision = _percent(state["expected_good"], *state["interval"]) if "expected_good" in state else ""
    return compiled, "" if threshold is None else f"{threshold:.3f}", precision


def _percent(share: float, low: float, high: float) -> str:
    return f"{100 * share:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)"


LICENCES = frozenset(
    {
        "afl-3.0", "agpl-3.0", "apache-2.0", "apple-amlr", "apple-ascl", "artistic-2.0", "bigcode-openrail-m",
        "bigscience-bloom-rail-1.0", "bigscience-openrail-m", "bsd", "bsd-2-clause", "bsd-3-clause",
        "bsd-3-clause-clear", "bsl-1.0", "c-uda", "cc", "cc-by-2.0", "cc-by-2.5", "cc-by-3.0", "cc-by-4.0",
        "cc-by-nc-2.0", "cc-by-nc-3.0", "cc-by-nc-4.0", "cc-by-nc-nd-3.0", "cc-by-nc-nd-4.0", "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-sa-3.0", "cc-by-sa-4.0", "cc0-1.0",
        "cdla-permissive-1.0", "cdla-permissive-2.0", "cdla-sharing-1.0", "creativeml-openrail-m",
        "deepfloyd-if-license", "ecl-2.0", "epl-1.0", "epl-2.0", "etalab-2.0", "eupl-1.1", "eupl-1.2",
        "fair-noncommercial-research-license", "gemma", "gfdl", "gpl", "gpl-2.0", "gpl-3.0", "grok2-community",
        "h-research", "intel-research", "isc", "lgpl", "lgpl-2.1", "lgpl-3.0", "lgpl-lr", "llama2", "llama3",
        "llama3.1", "llama3.2", "llama3.3", "llama4", "lppl-1.3c", "mit", "mpl-2.0", "ms-pl", "ncsa", "odbl",
        "odc-by", "ofl-1.1", "openmdw-1.0", "openrail", "openrail++", "osl-3.0", "other", "pddl", "postgresql",
        "unknown", "unlicense", "wtfpl", "zlib",
    }
)  # fmt: skip
OTHER = "other"


def licence_named(text: str) -> str:
    """Return a licence identifier of the Hub in its canonical case."""
    name = text.strip().lower()
    if name in LICENCES:
        return name
    near = " or ".join(difflib.get_close_matches(name, sorted(LICENCES - {OTHER}), n=3))
    hint = f"did you mean {near}? use" if near else "use an identifier such as cc-by-4.0 or apache-2.0, or"
    raise InputError(f"--licence {text}: unknown licence; {hint} {OTHER} if it is not listed")
