"""The folder of a dataset: parquet files by split, the card, and where everything came from."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from groundset.exports.hf import CORPUS, QA, by_split, corpus_table, qa_table
from groundset.files import whole_file, write_text
from groundset.folders import check_own, whole_folder
from groundset.publishing.card import Publication, card_body, data_file, front_matter
from groundset.publishing.merging import merged_card

CARD = "README.md"
PROVENANCE = "groundset.json"
DATA = tuple(f"data/{config}/*-?????-of-?????.parquet" for config in (QA, CORPUS))
"""Glob patterns of our tables, also of those of an earlier version."""
_ROWS = 20_000  # of a row group: some tens of megabytes, which whoever shows or streams the set reads at once


def write_tables(publication: Publication, folder: Path) -> None:
    """Write everything that is published but the card into a folder; the same publication gives the same bytes.

    Raises:
        InputError: a split has a name that `datasets` does not take, or the disk is full.
    """
    import pyarrow.parquet as pq

    content = publication.content
    tables = {data_file(QA, name): qa_table(samples) for name, samples in by_split(content.samples).items()}
    tables[data_file(CORPUS, CORPUS)] = corpus_table(content.chunks)
    for path, table in tables.items():
        with whole_file(folder / path) as aside:
            pq.write_table(table, aside, row_group_size=_ROWS)
    write_text(folder / PROVENANCE, _json(publication.record))


def write_card(publication: Publication, folder: Path, theirs: str) -> None:
    """Write the card into a folder; of ``theirs``, the one that is there already, what is not ours stays.

    Raises:
        InputError: their card cannot be read.
    """
    where = f"{publication.repo}/{CARD}"
    write_text(folder / CARD, merged_card(theirs, front_matter(publication), card_body(publication), where))


def write_dry(publication: Publication, folder: Path) -> None:
    """Write everything that would be published to a folder, in the place of an earlier such one; all or nothing.

    What a person wrote on the card of that one stays, as it would on the Hub.

    Raises:
        InputError: the folder holds something else, or cannot be written.
    """
    check_own(folder, (CARD, PROVENANCE, *DATA))
    card = folder / CARD
    theirs = card.read_text(encoding="utf-8") if card.is_file() else ""
    with whole_folder(folder, last=CARD) as aside:
        write_tables(publication, aside)
        write_card(publication, aside, theirs)


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
