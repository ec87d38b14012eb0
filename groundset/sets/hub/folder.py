"""The folder of a dataset: parquet files by split, the card, and where everything came from."""

import json
from pathlib import Path

from groundset.folders import check_own, whole_folder
from groundset.models.download import human_size
from groundset.sets.exports.hf import CORPUS, QA, by_split, corpus_table, qa_table
from groundset.sets.hub.card import Publication, card_body, data_file, front_matter
from groundset.sets.hub.merging import merged_card
from programs.errors import InputError

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
