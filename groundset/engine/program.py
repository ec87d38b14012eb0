"""Which code and data the samples of a run depend on: what the assembly of a run imports, less what only watches."""

import hashlib
from collections.abc import Collection
from pathlib import Path

import grimp

from groundset.data_files import data_path

_PACKAGES = ("signatures", "programs", "optimizers", "groundset")
_ROOT = Path(__file__).parents[2]
_ASSEMBLY = "groundset.engine.generation"
_RECIPES = "programs.recipes"

# What a run imports without its samples depending on it; packages stand for all that is in them. A module that is
# missing here costs an unneeded "groundset itself has changed", never a run of two minds.
WATCHING = (
    "groundset.sets.exports",  # what becomes of samples later
    "groundset.files",  # how results are written
    "groundset.models",  # how weights come here: they are compared by their hash
    "groundset.engine.config",  # how options are read: they are compared by their values
    "groundset.engine.identity", "groundset.engine.program",
    "groundset.progress", "groundset.store.record", "groundset.store.summary",  # what is said of a run
    "groundset.store.wording",
    "groundset.store.pieces", "groundset.store.reviews",  # what readers are shown of it, and say
    "groundset.store.lineage",  # what it was made from
    "groundset.tracking",
    "groundset.engine.stop", "programs.errors",  # what ends a run
)  # fmt: skip
# Files that samples depend on: folders of data/.
_DATA = ("compiled", "demos")


def code_modules(recipe: str, recipes: Collection[str]) -> list[str]:
    """Return the modules that a run with ``recipe`` depends on, sorted.

    Followed is every import of our own packages, those inside functions too. The table of ``recipes`` imports them all;
    of those that are modules of its package only the chosen one counts, and what that imports itself.
    """
    chosen = f"{_RECIPES}.{recipe}"
    graph = grimp.build_graph(*_PACKAGES, cache_dir=None)
    for module in sorted(graph.modules):
        if any(module == watching or module.startswith(f"{watching}.") for watching in WATCHING):
            graph.remove_module(module)
    if chosen in graph.modules:
        others = {f"{_RECIPES}.{other}" for other in recipes} - {chosen}
        for other in others & graph.find_modules_directly_imported_by(_RECIPES):
            graph.remove_import(importer=_RECIPES, imported=other)
    roots = {_ASSEMBLY, _RECIPES, chosen} & graph.modules
    return sorted(roots.union(*(graph.find_upstream_modules(root) for root in roots)))


def program_hash(recipe: str, recipes: Collection[str]) -> str:
    """Return one SHA-256 for the bytes of all code and data that a run with ``recipe`` depends on."""
    total = hashlib.sha256()
    for module in code_modules(recipe, recipes):
        total.update(module.encode() + b"\0" + _source(module).read_bytes())
    data = data_path()
    for file in sorted(file for folder in _DATA for file in (data / folder).rglob("*") if file.is_file()):
        total.update(file.relative_to(data).as_posix().encode() + b"\0" + file.read_bytes())
    return total.hexdigest()


def _source(module: str) -> Path:
    path = _ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
