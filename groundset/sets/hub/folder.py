"""The folder of a dataset: parquet files by split, where everything came from, and the card, merged with one there."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundset.folders import check_own, whole_folder
from groundset.models.download import human_size
from groundset.sets.exports.hf import CORPUS, QA, by_split, corpus_table, qa_table
from groundset.sets.hub.card import BEGIN, END, Publication, card_body, data_file, front_matter
from programs.errors import InputError

_FRONT = re.compile(r"\A\s*---[ \t]*\n(.*?)(?:\n)?^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_OURS = re.compile(f"{BEGIN}(?:(?!{BEGIN}).)*?{END}\n?", re.DOTALL)
_UNITED = ("task_categories", "tags")


def merged_card(theirs: str, front: Mapping[str, Any], body: str, where: str) -> str:
    """Return a card that holds our front matter and body, and of ``theirs`` what is not ours.

    Of tags and tasks those of a person stay beside ours, of configurations those of other names; a name once given
    (`pretty_name`) stays. Where nothing changes the front matter stays as it is, comments included.

    Args:
        theirs: the card that is there; nothing, if there is none.
        front: our front matter.
        body: our text with its marks.
        where: what to name if it cannot be read.

    Raises:
        InputError: their front matter cannot be read.
    """
    theirs = theirs.replace("\r\n", "\n")
    found = _FRONT.match(theirs)
    before, text = (found[1], theirs[found.end() :]) if found else ("", theirs)
    known = _read(before, where)
    merged = _merged(known, front)
    kept = before if merged == known else _written(merged)
    if _OURS.search(text):
        text = _OURS.sub(lambda _: body, text, count=1)
    else:
        text = f"{text.rstrip()}\n\n{body}" if text.strip() else body
    return f"---\n{kept}\n---\n{text if text.startswith(chr(10)) else chr(10) + text}"


def _read(front: str, where: str) -> dict[str, Any]:
    import yaml

    try:
        # A few lines of aliases can stand for more than any memory holds.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(front, Loader=yaml.SafeLoader)):
            raise InputError(f"{where}: the front matter holds aliases (*name); write out there what they stand for")
        known = yaml.safe_load(front) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError(f"{where}: the front matter is not YAML; mend it there") from error
    if not isinstance(known, dict):
        raise InputError(f"{where}: the front matter is no list of keys and values; mend it there")
    return known


def _written(front: Mapping[str, Any]) -> str:
    import yaml

    return str(yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True)).rstrip("\n")


def _merged(known: Mapping[str, Any], front: Mapping[str, Any]) -> dict[str, Any]:
    merged = {**known, **front}
    for name in _UNITED:
        others = _several(known.get(name))
        merged[name] = [*others, *(each for each in front[name] if each not in others)]
    if known.get("pretty_name"):
        merged["pretty_name"] = known["pretty_name"]
    ours = {config["config_name"] for config in front["configs"]}
    others = [each for each in _several(known.get("configs")) if not _is_named(each, ours)]
    if any(isinstance(each, dict) and each.get("default") for each in others):
        configs = [{name: value for name, value in each.items() if name != "default"} for each in front["configs"]]
    else:
        configs = list(front["configs"])
    merged["configs"] = [*configs, *others]
    return merged


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _is_named(config: Any, names: set[str]) -> bool:
    return isinstance(config, dict) and config.get("config_name") in names


CARD = "README.md"
PROVENANCE = "groundset.json"
DATA = tuple(f"data/{config}/*-?????-of-?????.parquet" for config in (QA, CORPUS))
"""Glob patterns of our tables, also of those of an earlier version."""
_LONGEST_CARD = 1_000_000  # bytes; those that people write are a hundredth of it
_ROWS = 20_000  # of a row group: some tens of megabytes, which whoever shows or streams the set reads at once


def write_tables(publication: Publication, folder: Path) -> None:
    """Write everything that is published but the card into a folder; the same publication gives the same bytes.

    Raises:
        InputError: a split has a name that `datasets` does not take.
        OSError: the disk is full.
    """
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
    """Write the card into a folder; of ``theirs``, the one that is there already, what is not ours stays.

    Raises:
        InputError: their card cannot be read.
        OSError: the disk is full.
    """
    where = f"{publication.repo}/{CARD}"
    _write(folder / CARD, merged_card(theirs, front_matter(publication), card_body(publication), where))


def read_card(file: Path, where: str) -> str:
    """Return the text of a card; ``where`` is what to name if it cannot be read.

    Raises:
        InputError: it is no text, or longer than any card.
    """
    try:
        if file.stat().st_size > _LONGEST_CARD:
            raise InputError(f"{where}: {CARD} there is longer than {human_size(_LONGEST_CARD)}; shorten it there")
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: {CARD} there is not UTF-8; mend it there") from error


def write_dry(publication: Publication, folder: Path) -> None:
    """Write everything that would be published to a folder, in the place of an earlier such one; all or nothing.

    What a person wrote on the card of that one stays, as it would on the Hub.

    Raises:
        InputError: the folder holds something else, or cannot be written.
    """
    check_own(folder, (CARD, PROVENANCE, *DATA))
    theirs = read_card(folder / CARD, str(folder)) if (folder / CARD).is_file() else ""
    with whole_folder(folder, last=CARD) as aside:
        write_tables(publication, aside)
        write_card(publication, aside, theirs)


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")
