"""Tables of the rows found in the modules of a package."""

import pkgutil
from importlib import import_module
from typing import TypeVar

Row = TypeVar("Row")


def discover(package: str, attribute: str, kind: type[Row], *, by: str = "name") -> dict[str, Row]:
    """Return the rows in the modules of a package by name, sorted by ``rank``, if they have one, then by module.

    Modules without the attribute, and those whose name begins with an underscore, are skipped.

    Args:
        package: the dotted name of the package.
        attribute: the name of the row in each module, such as ``STEP``.
        kind: the class of the rows.
        by: the attribute of a row to use as its name.

    Raises:
        TypeError: a row has another class, or two rows have the same name.
    """
    rows: dict[str, Row] = {}
    for found in pkgutil.iter_modules(import_module(package).__path__):
        if found.name.startswith("_"):
            continue
        row = getattr(import_module(f"{package}.{found.name}"), attribute, None)
        if row is None:
            continue
        if not isinstance(row, kind):
            raise TypeError(f"{package}.{found.name}.{attribute} is not a {kind.__name__}")
        name = str(getattr(row, by))
        if name in rows:
            raise TypeError(f"{package}.{found.name}: another {kind.__name__} has the name {name}")
        rows[name] = row
    return dict(sorted(rows.items(), key=lambda item: getattr(item[1], "rank", 0)))
