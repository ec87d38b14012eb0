"""What is published beside the tables: the dataset card, and the figures of the run without
anything of this machine.

Names come from documents, models and foreign sets. They are escaped: in the front matter by the
YAML writer, in the text by :func:`markdown_text`. Only foreign sets and chunks of the user's own
have paths of a machine in their names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import Any
from urllib.parse import unquote

from groundset import __version__
from groundset.exports.formats import CORPUS, QA
from groundset.exports.sets import EvaluationSet
from groundset.printing import printable
from groundset.programs.faq import STATED
from groundset.programs.stats import wilson
from groundset.programs.types import Chunk, Sample
from groundset.run.options import GenerateOptions
from groundset.run.recipes import GIVEN
from groundset.run.record import frequencies, listed
from groundset.run.show import signed

MARKER = "<!-- made by groundset push -->"
_MAX_NAME = 200  # characters
_MARKUP = re.compile(r"[\\`*_\[\]|~$@#]|(?<=:)/|(?<=www)\.", re.IGNORECASE)
_LANGUAGE = re.compile(r"[a-z]{2,3}")
# What is published of a run and of its configuration; what is new is not, until it is named here.
# Left out are paths, addresses, and texts of users: personas and their queries.
_RECORD = (
    "status",
    "asked",
    "selected",
    "accepted",
    "evolutions",
    "kinds",
    "alternatives",
    "rejects",
    "attempts",
    "surplus",
    "counts",
    "calls",
    "prompt_tokens",
    "cached_tokens",
    "generated_tokens",
    "call_seconds",
    "seconds",
    "started",
    "documents",
    "chunks",
    "versions",
)
# Of how a run was made: what must be the same for it to go on, and nothing private.
_SETTINGS = GenerateOptions.with_fact("private", False) - GenerateOptions.with_fact("free")
_STATED = "stated, with their answers, by the documents themselves"
_MADE = {None: "taken from a set of another tool", GIVEN: "asked by users and answered by a model"}
_PERSONAL = {
    "mail addresses": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}", re.IGNORECASE),
    "telephone numbers": re.compile(
        r"(?:(?<![\w.])(?:\+|00)\d{1,3}|\b(?:tel|phone|fax|mobile?|telefon|téléphone)\w*[:. ]+)"
        r"[ (./-]*\d[\d ()./-]{5,16}\d(?!\w)",
        re.IGNORECASE,
    ),
}
_ROLES = {
    "lm": "language model",
    "critic_lm": "judge",
    "embedder": "embedding model",
    "parser": "parser",
}
# Signs of a path of a machine: an address, a drive, a share, a home, an absolute path, one that
# leads upwards.
_LOCAL = re.compile(
    r"\b[a-z][a-z0-9+.-]*:[/\\]|\\\\|~[\w.-]*[/\\]|\.\.[/\\]|(?:^|[\s:=|,;(\"'<])[/\\]\w",
    re.IGNORECASE,
)


def public_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is published of ``run.json``."""
    configuration, models = record["configuration"], record["models"]
    return {
        **{name: record[name] for name in _RECORD if record.get(name) is not None},
        "configuration": {
            name: value
            for name, value in configuration.items()
            if name in {*_SETTINGS, "size"} and value is not None
        },
        "models": {
            role: {
                "name": public_model(models[role]["name"]),
                "sha256": models[role].get("sha256"),
            }
            for role in _ROLES
            if role in models
        },
    }


def held_personal(chunks: Iterable[Chunk]) -> dict[str, int]:
    """Return how many mail addresses and telephone numbers texts hold, of which somebody may be
    the owner.
    """
    text = "\n".join(chunk.text for chunk in chunks)
    found = {name: set(pattern.findall(text)) for name, pattern in _PERSONAL.items()}
    return {name: len(matches) for name, matches in found.items() if matches}


def _origins(samples: Sequence[Sample], record: Mapping[str, Any]) -> dict[str, int]:
    """Return how many questions come from where."""
    configuration = record["configuration"]
    others = _MADE.get(configuration.get("recipe"), "written by a language model")
    if configuration.get("guided"):
        others = "begun by rules about a sentence and completed by a small language model"
    return frequencies(_STATED if each.kind == STATED else others for each in samples)


def is_local(name: str) -> bool:
    """Return whether a name has a path in it, also one of Windows, that says more than a place in
    the given folder.
    """
    return bool(_LOCAL.search(unquote(name)))


def public_name(name: str) -> str:
    """Return a path or title, of a path of a machine only the last part."""
    return re.split(r"[/\\]", unquote(name))[-1] if is_local(name) else name


def public_model(name: str) -> str:
    """Return the name of a model without its path or the address of its server."""
    name = public_name(re.sub(r"@[a-z]+://.*", "", name, flags=re.IGNORECASE))
    is_file = name.lower().endswith(".gguf") and not name.startswith("hf/")
    return name.rpartition("/")[2] if is_file else name


def data_file(config: str, split: str) -> str:
    """Return the path of the Parquet file of a split in the repository."""
    return f"data/{config}/{split}-00000-of-00001.parquet"


def card(
    found: EvaluationSet,
    record: Mapping[str, Any],
    *,
    repo: str,
    licence: str,
    splits: Sequence[str],
) -> str:
    """Return the dataset card of a set with the public record of its run: front matter for the Hub,
    and a text.
    """
    import yaml
    from jinja2 import Environment
    from markupsafe import Markup

    recipe, samples = record["configuration"].get("recipe"), found.samples
    reviewed = list(signed(found.runs[0]).values())
    front = {
        "license": licence,
        "language": [
            code
            for code in frequencies(sample.language for sample in samples)
            if _LANGUAGE.fullmatch(code)
        ],
        "task_categories": ["question-answering", "text-retrieval"],
        "tags": ["rag", "evaluation", *(["synthetic"] if recipe else []), "groundset"],
        "configs": [
            {
                "config_name": config,
                "default": config == QA,
                "data_files": [
                    {"split": split, "path": data_file(config, split)} for split in names
                ],
            }
            for config, names in ((QA, splits), (CORPUS, [CORPUS]))
        ],
    }
    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else markdown_text(value),
    )
    environment.filters["listed"] = _listed
    members = {
        name: [each for each in samples if found.split_of(each) in (name, None)] for name in splits
    }
    text = environment.from_string(
        Path(__file__).with_name("card.md.jinja").read_text(encoding="utf-8")
    ).render(
        record,
        marker=Markup(MARKER),
        version=__version__,
        name=repo.partition("/")[2],
        repo=repo,
        licence=licence,
        found=found,
        splits=members,
        recipe=recipe,
        origins=listed(_origins(samples, record)),
        personal=listed(held_personal(found.chunks)),
        roles=_ROLES,
        reviewed=reviewed,
        share=wilson(sum(reviewed), len(reviewed)),
    )
    return f"---\n{yaml.safe_dump(front, allow_unicode=True, sort_keys=False)}---\n{text}"


def markdown_text(value: object) -> str:
    """Escape a value for Markdown, on one line of limited length."""
    text = printable(shorten(str(value), _MAX_NAME, placeholder=" …"))
    return escape(_MARKUP.sub(r"\\\g<0>", text), quote=False)


def _listed(names: Iterable[str | None]) -> str:
    return listed(frequencies(names))
