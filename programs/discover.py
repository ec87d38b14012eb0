"""Tables whose rows are found in a folder: one file each, and nobody types its name again."""

import pkgutil
from importlib import import_module
from typing import TypeVar

Row = TypeVar("Row")


def discover(package: str, attribute: str, kind: type[Row], *, by: str = "name") -> dict[str, Row]:
    """Return the rows that the modules of a package hold, by their ``name`` or what else ``by`` names.

    They come in the order of their ``rank`` where they have one, then of the names of the modules.

    Modules and packages without the attribute, and those whose name begins with an underscore, are no rows.

    Args:
        package: the dotted name of the package that holds the modules.
        attribute: what each module calls its row, such as ``STEP``.
        kind: the class of the rows.
        by: the attribute of a row that names it.

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
        name = str(getattr(row, by))
        if name in rows:
            raise TypeError(f"{package}.{found.name}: there is another {kind.__name__} named {name}")
        rows[name] = row
    return dict(sorted(rows.items(), key=lambda item: getattr(item[1], "rank", 0)))
