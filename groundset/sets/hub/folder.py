"""Write the folder of a dataset: Parquet files, provenance, and the card, merged with an existing one."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from groundset.folders import check_own, whole_folder
from groundset.models.download import human_size
from groundset.sets.exports.hf import CORPUS, QA, by_split, corpus_table, qa_table
from groundset.sets.hub.card import BEGIN, END, Publication, card_body, data_file, front_matter
from programs.errors import InputError

CARD = "README.md"
PROVENANCE = "groundset.json"
DATA = tuple(f"data/{config}/*-?????-of-?????.parquet" for config in (QA, CORPUS))
"""Glob patterns of the tables, including those of earlier versions."""
_MAX_CARD_BYTES = 1_000_000  # about 100 times the size of a typical card
_ROW_GROUP = 20_000  # rows; tens of megabytes, the unit in which viewers and streams read
_OWN_SECTION = re.compile(f"{BEGIN}(?:(?!{BEGIN}).)*?{END}\n?", re.DOTALL)


def write_tables(publication: Publication, folder: Path) -> None:
    """Write the tables and provenance; the output is deterministic."""
    import pyarrow.parquet as pq

    run = publication.run
    tables = {data_file(QA, name): qa_table(samples) for name, samples in by_split(run.samples).items()}
    tables[data_file(CORPUS, CORPUS)] = corpus_table(run.chunks)
    for path, table in tables.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("wb") as file:  # Arrow cannot open paths that are not UTF-8
            pq.write_table(table, file, row_group_size=_ROW_GROUP)
    _write(folder / PROVENANCE, json.dumps(publication.record, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def write_card(publication: Publication, folder: Path, existing: str) -> None:
    """Write the card, merged with an existing one."""
    where = f"{publication.repo}/{CARD}"
    _write(folder / CARD, merged_card(existing, front_matter(publication), card_body(publication), where))


def read_card(file: Path, where: str) -> str:
    """Read the text of a card; ``where`` names it in messages."""
    try:
        if file.stat().st_size > _MAX_CARD_BYTES:
            raise InputError(f"{where}: {CARD} is longer than {human_size(_MAX_CARD_BYTES)}; shorten it")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: {CARD} is not UTF-8; convert it") from error


def write_dry_run(publication: Publication, folder: Path) -> None:
    """Write everything that would be published to a folder, atomically replacing an earlier dry run.

    Manual edits of the earlier card are kept, as on the Hub.
    """
    check_own(folder, (CARD, PROVENANCE, *DATA))
    existing = read_card(folder / CARD, str(folder)) if (folder / CARD).is_file() else ""
    with whole_folder(folder, last=CARD) as temporary:
        write_tables(publication, temporary)
        write_card(publication, temporary, existing)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def merged_card(existing: str, front: Mapping[str, Any], body: str, where: str) -> str:
    """Merge generated front matter and text into an existing card, keeping manual edits.

    Other tags, tasks and configurations are kept, and so is `pretty_name`. The section between the markers is replaced,
    or appended if there are no markers.

    Args:
        existing: the existing card, or an empty string.
        front: the generated front matter.
        body: the generated section with its markers.
        where: the name of the card in messages.
    """
    card = _parsed(existing.replace("\r\n", "\n"), where)
    for name, value in front.items():
        card.data[name] = value if name not in _MERGED else _MERGED[name](card.data.get(name), value)
    if _OWN_SECTION.search(card.text):
        text = _OWN_SECTION.sub(lambda _: body, card.text, count=1)
    else:
        text = f"{card.text.rstrip()}\n\n{body}" if card.text.strip() else body
    card.text = text if text.startswith("\n") else f"\n{text}"
    return str(card)


def _parsed(text: str, where: str) -> Any:
    """Parse a card as the Hub does, rejecting YAML aliases and keys that would shadow methods."""
    import yaml
    from huggingface_hub import CardData, RepoCard
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    front = REGEX_YAML_BLOCK.search(text)
    try:
        # Nested aliases can exhaust memory ("billion laughs").
        events = yaml.parse(front[2], Loader=yaml.SafeLoader) if front else ()
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise InputError(f"{where}: YAML aliases (*name) in the front matter are not supported; write them out")
        card: Any = RepoCard(text if front else f"---\n\n---\n{text}")
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:  # TypeError: a key is not a string
        raise InputError(f"{where}: the front matter is not a YAML mapping; correct it") from error
    if name := next((name for name in vars(card.data) if hasattr(CardData, name)), None):
        raise InputError(f"{where}: invalid key {name} in the front matter; remove it")
    return card


def _union(existing: Any, generated: Iterable[Any]) -> list[Any]:
    known = _as_list(existing)
    return [*known, *(value for value in generated if value not in known)]


def _merged_configs(existing: Any, generated: list[dict[str, Any]]) -> list[Any]:
    """Merge configurations by name; a manual default takes precedence."""
    names = {config["config_name"] for config in generated}
    others = [
        other for other in _as_list(existing) if not (isinstance(other, dict) and other.get("config_name") in names)
    ]
    if any(isinstance(other, dict) and other.get("default") for other in others):
        generated = [{name: value for name, value in config.items() if name != "default"} for config in generated]
    return [*generated, *others]


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


_MERGED = {
    "task_categories": _union,
    "tags": _union,
    "pretty_name": lambda existing, generated: existing or generated,
    "configs": _merged_configs,
}
