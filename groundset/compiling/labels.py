"""Which files of labels and gold rows a step is compiled with."""

from collections.abc import Callable, Sequence
from pathlib import Path

from groundset.data_files import data_path
from groundset.files import write_rows
from optimizers.gold import GOLD, Decided
from optimizers.gold_rows import SameGold
from optimizers.labels import AnsweredLabel, ChunkLabel, QuestionLabel
from optimizers.public_sets import PUBLIC_SETS
from programs.errors import InputError
from programs.languages import LANGUAGES
from programs.languages.table import Languages

# A head of questions learns nothing from those of a strong writer: what is wrong with them is not on their surface.
_SHIPPED: dict[Decided, tuple[str, ...]] = {
    ChunkLabel: ("labels/chunks.jsonl",),
    QuestionLabel: ("labels/questions.jsonl",),
    AnsweredLabel: ("labels/questions.jsonl", "labels/strong.jsonl"),
    SameGold: ("gold/same.jsonl",),
}


def label_files(own: Sequence[Path], kind: Decided | None = None) -> list[Path]:
    """Return the shipped label files of a kind, or of chunks and questions, and the user's own."""
    names = _SHIPPED[kind] if kind else (*_SHIPPED[ChunkLabel], *_SHIPPED[QuestionLabel])
    shipped = [data_path(*name.split("/")) for name in names]
    read = {file.name for file in shipped}  # a shipped file that is named too is read once
    return [*shipped, *(file for file in own if file.name not in read)]


def gold_files() -> list[Path]:
    """Return the shipped files of gold rows, one for a kind, and of the chunks that only these are about."""
    files = (data_path("gold", f"{name}.jsonl") for name in (*GOLD, "chunks"))
    return [file for file in files if file.is_file()]  # of some kinds no rows are shipped


def own_files(named: Sequence[str], folder: Path, say: Callable[[str], object]) -> list[Path]:
    """Return the files that ``--labels`` names; ``SET:FILE`` is a public set, whose gold rows go to a file in a folder.

    Raises:
        InputError: there is no such file, or it is not in the form of its set, or none of its rows can be used.
    """
    files = []
    for name in named:
        set_name, colon, place = name.partition(":")
        public = PUBLIC_SETS.get(set_name) if colon else None
        file = Path(place if public else name).expanduser()
        if not file.is_file():
            sets = ", ".join(f"{known}:FILE" for known in PUBLIC_SETS)
            raise InputError(f"--labels {name}: no such file; name one of your own, or {sets}.")
        if public is None:
            files.append(file)
            continue
        rows = [row.model_dump(exclude_defaults=True) for row in public.rows(file, Languages(LANGUAGES))]
        if not rows:
            raise InputError(f"--labels {name}: no question of it can be learned from.")
        files.append(folder / f"{public.name}-{file.stem}.jsonl")
        folder.mkdir(parents=True, exist_ok=True)
        write_rows(files[-1], rows)
        say(f"{len(rows):,} gold rows of {name}: {files[-1]}")
    return files
