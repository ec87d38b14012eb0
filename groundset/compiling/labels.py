"""Files of labels and gold rows to compile with."""

from collections.abc import Callable, Sequence
from pathlib import Path

from groundset.data_files import data_path
from groundset.files import write_rows
from optimizers.gold import Decided
from optimizers.labels import ChunkLabel, QuestionLabel
from optimizers.public_sets import PUBLIC_SETS
from optimizers.steps import FITTED, GOLD
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages

_SHIPPED: dict[Decided, tuple[str, ...]] = {fitting.labels: fitting.files for fitting in FITTED.values()}


def label_files(user_files: Sequence[Path], kind: Decided | None = None) -> list[Path]:
    """Return the shipped label files of a kind (by default of chunks and questions) and the user's files."""
    names = _SHIPPED[kind] if kind else (*_SHIPPED[ChunkLabel], *_SHIPPED[QuestionLabel])
    shipped = [data_path(*name.split("/")) for name in names]
    names_read = {file.name for file in shipped}  # shipped files may be named again
    return [*shipped, *(file for file in user_files if file.name not in names_read)]


def gold_files() -> list[Path]:
    """Return the shipped files of gold rows, and of their chunks."""
    files = (data_path("gold", f"{name}.jsonl") for name in (*GOLD, "chunks"))
    return [file for file in files if file.is_file()]  # some steps have no shipped gold rows


def label_arguments(arguments: Sequence[str], folder: Path, say: Callable[[str], object]) -> list[Path]:
    """Return the files of ``--labels``; the gold rows of public sets (``SET:FILE``) are written to ``folder``.

    Raises:
        InputError: a file is missing, has another format than its set, or has no usable rows.
    """
    files = []
    for name in arguments:
        set_name, colon, path = name.partition(":")
        public = PUBLIC_SETS.get(set_name) if colon else None
        file = Path(path if public else name).expanduser()
        if not file.is_file():
            if colon and public is None and len(set_name) > 1:  # one letter is a Windows drive
                raise InputError(f"--labels {name}: unknown set {set_name}; known sets: {', '.join(PUBLIC_SETS)}")
            sets = ", ".join(f"{known}:FILE" for known in PUBLIC_SETS)
            raise InputError(f"--labels {name}: no such file; name a file of labels or gold rows, or {sets}")
        if public is None:
            files.append(file)
            continue
        rows = [row.model_dump(exclude_defaults=True) for row in public.rows(file, Languages(LANGUAGES))]
        if not rows:
            raise InputError(f"--labels {name}: no usable questions; questions need an answer within one sentence")
        files.append(folder / f"{public.name}-{file.stem}.jsonl")
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(files[-1], rows)
        say(f"{len(rows):,} gold rows of {name}: {files[-1]}")
    return files
