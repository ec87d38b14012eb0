"""Whether a database is one that groundset made, looked at before anything in it is used.

A run may come from anybody, and SQLite carries out what a file says: a view in the place of a table, or a table whose
pages lead in a circle, goes on for ever; a trigger changes what it was never asked to change.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from groundset.store.database import Database

_OBJECTS = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
_STORED_AS = {"TEXT": "'text'", "INTEGER": "'integer'", "REAL": "'real'", "BLOB": "'blob'"}
_VECTORS = "SELECT length(vector) FROM {} WHERE vector IS NOT NULL GROUP BY 1"
_BYTES = 4  # of a number in a vector


def check_sound(database: Database, schema: Sequence[str], later: Sequence[str]) -> None:
    """Refuse a database that holds anything but our own tables, or values of other kinds than these declare.

    Args:
        database: what was opened.
        schema: the statements that make its tables.
        later: those that make tables which need not be there yet.

    Raises:
        DamagedRunError: it is not sound; the message says in a few words where.
    """
    with closing(sqlite3.connect(":memory:")) as ours:
        for statement in schema:
            ours.execute(statement)
        needed = {row[1] for row in ours.execute(_OBJECTS)}
        for statement in later:
            ours.execute(statement)
        known = {row[1]: row for row in map(_plain, ours.execute(_OBJECTS))}
        columns = {name: ours.execute(f"PRAGMA table_info({name})").fetchall() for name in known}
    found = [_plain(row) for row in database.execute(_OBJECTS)]
    for row in found:
        if known.get(row[1]) != row:
            raise database.damaged(f"the {row[0]} {row[1]} is none of a run")
    names = {row[1] for row in found}
    if missing := needed - names:
        raise database.damaged(f"the table {min(missing)} is missing")
    # Reads every page once, so that none is read for ever; then every query is as long as the file allows.
    if database.execute("PRAGMA integrity_check(1)") != [("ok",)]:
        raise database.damaged()
    for name in sorted(names):
        other = " OR ".join(f"typeof({column}) NOT IN ({kinds})" for column, kinds in map(_kinds, columns[name]))
        if database.execute(f"SELECT 1 FROM {name} WHERE {other} LIMIT 1"):
            raise database.damaged(f"the table {name} holds values of another kind")
    lengths = {length for name in ("chunks", "samples") for (length,) in database.execute(_VECTORS.format(name))}
    if len(lengths) > 1 or any(length == 0 or length % _BYTES for length in lengths):
        raise database.damaged("vectors of different lengths")


def _plain(row: Sequence[Any]) -> tuple[str, ...]:
    """Return what ``sqlite_master`` says of a thing, however its statement is spaced."""
    return tuple(" ".join(str(value).split()) for value in row)


def _kinds(column: Sequence[Any]) -> tuple[str, str]:
    """Return the name of a column, and the kinds of values that it may hold."""
    _, name, declared, is_needed, _, in_key = column
    kinds = _STORED_AS[declared]
    return name, kinds if is_needed or in_key else f"{kinds}, 'null'"
