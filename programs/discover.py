"""Tables whose rows are found in a folder: one file each, and nobody types its name again."""

import pkgutil
from importlib import import_module
from typing import TypeVar

Row = TypeVar("Row")


def discover(package: str, attribute: str, kind: type[Row]) -> dict[str, Row]:
    """Return the rows that the modules of a package hold, by their ``name``, in the order of the modules' names.

    Modules and packages without the attribute, and those whose name begins with an underscore, are no rows.

    Args:
        package: the dotted name of the package that holds the modules.
        attribute: what each module calls its row, such as ``STEP``.
        kind: the class of the rows; each has a ``name``.

    Raises:
        TypeError: an attribute of that name is something else, or two rows share a name.
    """
    rows: dict[str, Row] = {}
    for found in pkgutil.iter_modules(import_module(package).__path__):
        if found.name.startswith("_"):
            continue
        row = getattr(import_module(f"{package}.{found.name}"), attribute, None)
        if row is None:
            continue
        if not isinstance(row, kind):
            raise TypeError(f"{package}.{found.name}.{attribute} is no {kind.__name__}")
        name = str(row.name)  # type: ignore[attr-defined]
        if name in rows:
            raise TypeError(f"{package}.{found.name}: there is another {kind.__name__} named {name}")
        rows[name] = row
    return rows
