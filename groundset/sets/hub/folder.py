"""The folder of a dataset: parquet files by split, where everything came from, and the card, merged with one there."""

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
"""Glob patterns of our tables, also of those of an earlier version."""
_LONGEST_CARD = 1_000_000  # bytes; those that people write are a hundredth of it
_ROWS = 20_000  # of a row group: some tens of megabytes, which whoever shows or streams the set reads at once
_OURS = re.compile(f"{BEGIN}(?:(?!{BEGIN}).)*?{END}\n?", re.DOTALL)


def write_tables(publication: Publication, folder: Path) -> None:
    """Write everything that is published but the card into a folder; the same publication gives the same bytes."""
    import pyarrow.parquet as pq

    run = publication.run
    tables = {data_file(QA, name): qa_table(samples) for name, samples in by_split(run.samples).items()}
    tables[data_file(CORPUS, CORPUS)] = corpus_table(run.chunks)
    for path, table in tables.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with (folder / path).open("wb") as file:  # Arrow itself opens no path that is not UTF-8
            pq.write_table(table, file, row_group_size=_ROWS)
    _write(folder / PROVENANCE, json.dumps(publication.record, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def write_card(publication: Publication, folder: Path, theirs: str) -> None:
    """Write the card into a folder, merged with ``theirs``, the one that is there already."""
    where = f"{publication.repo}/{CARD}"
    _write(folder / CARD, merged_card(theirs, front_matter(publication), card_body(publication), where))


def read_card(file: Path, where: str) -> str:
    """Read the text of a card; ``where`` names it in messages."""
    try:
        if file.stat().st_size > _LONGEST_CARD:
            raise InputError(f"{where}: {CARD} there is longer than {human_size(_LONGEST_CARD)}; shorten it there")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: {CARD} there is not UTF-8; correct it there") from error


def write_dry(publication: Publication, folder: Path) -> None:
    """Write everything that would be published to a folder, replacing an earlier dry run; all or nothing.

    What a person wrote on the card of the earlier one stays, as it would on the Hub.
    """
    check_own(folder, (CARD, PROVENANCE, *DATA))
    theirs = read_card(folder / CARD, str(folder)) if (folder / CARD).is_file() else ""
    with whole_folder(folder, last=CARD) as aside:
        write_tables(publication, aside)
        write_card(publication, aside, theirs)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def merged_card(theirs: str, front: Mapping[str, Any], body: str, where: str) -> str:
    """Merge our front matter and body into a card, which keeps what is not ours.

    A person's tags and tasks stay beside ours, configurations of other names too, and a `pretty_name` once given.
    The text between our marks is replaced, or added at the end where there are none.

    Args:
        theirs: the card that is there; empty if there is none.
        front: our front matter.
        body: our text with its marks.
        where: the name of the card in messages.
    """
    card = _parsed(theirs.replace("\r\n", "\n"), where)
    for name, value in front.items():
        card.data[name] = value if name not in _MERGED else _MERGED[name](card.data.get(name), value)
    if _OURS.search(card.text):
        text = _OURS.sub(lambda _: body, card.text, count=1)
    else:
        text = f"{card.text.rstrip()}\n\n{body}" if card.text.strip() else body
    card.text = text if text.startswith("\n") else f"\n{text}"
    return str(card)


def _parsed(text: str, where: str) -> Any:
    """Parse a card as the Hub does."""
    import yaml
    from huggingface_hub import CardData, RepoCard
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    found = REGEX_YAML_BLOCK.search(text)
    try:
        # A few lines of aliases can stand for more than any memory holds.
        events = yaml.parse(found[2], Loader=yaml.SafeLoader) if found else ()
        if any(isinstance(event, yaml.AliasEvent) for event in events):
            raise InputError(f"{where}: the front matter holds aliases (*name); write out there what they stand for")
        card: Any = RepoCard(text if found else f"---\n\n---\n{text}")
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:  # TypeError: a key that is no text
        raise InputError(f"{where}: the front matter is not a YAML mapping; correct it there") from error
    if name := next((name for name in vars(card.data) if hasattr(CardData, name)), None):
        raise InputError(f"{where}: the front matter has the key {name}, which is no key of a card; remove it there")
    return card


def _united(theirs: Any, ours: Iterable[Any]) -> list[Any]:
    known = _as_list(theirs)
    return [*known, *(value for value in ours if value not in known)]


def _merged_configs(theirs: Any, ours: list[dict[str, Any]]) -> list[Any]:
    """Merge configurations by name; if a person made one of theirs the default, ours is none."""
    names = {config["config_name"] for config in ours}
    others = [
        other for other in _as_list(theirs) if not (isinstance(other, dict) and other.get("config_name") in names)
    ]
    if any(isinstance(other, dict) and other.get("default") for other in others):
        ours = [{name: value for name, value in config.items() if name != "default"} for config in ours]
    return [*ours, *others]


def _as_list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


_MERGED = {
    "task_categories": _united,
    "tags": _united,
    "pretty_name": lambda theirs, ours: theirs or ours,
    "configs": _merged_configs,
}
