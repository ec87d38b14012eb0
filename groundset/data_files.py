"""Paths of the files in `data/`: inside the installed package, or at the root of a checkout."""

from pathlib import Path

from programs.errors import GroundsetError

_PACKAGE = Path(__file__).parent


def data_path(*parts: str) -> Path:
    """Return the path of a file or folder in `data/`, whether it exists or not.

    In a wheel the data is inside the package, in an editable install beside it.
    """
    for folder in (_PACKAGE / "data", _PACKAGE.parent / "data"):
        if folder.is_dir():
            return folder.joinpath(*parts)
    raise GroundsetError("the data files of groundset are missing; install it again")
