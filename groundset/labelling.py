"""Labels and gold rows: as examples and tasks of DSPy, and `groundset labels check`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundset.files import data_path
from groundset.optimizers.labels import GOLD, SPLITS, checked, read_rows
from groundset.options import DEFAULT_EMBEDDER, Options, for_python, option
from groundset.printing import counted, say
from groundset.programs.errors import InputError

if TYPE_CHECKING:
    import dspy

    from groundset.optimizers.tasks import CompileTask
    from groundset.programs.heads import HeadJudge

# Shipped labels, and what they are examples of.
LABELS = {
    "chunks": "chunk",
    "company-chunks": "chunk",
    "questions": "judge",
    "strong": "judge",
    "company": "judge",
}
_SHOWN = 50  # problems of files


@for_python
def step(name: str, labels: Sequence[str | Path] = (), **options: Any) -> "CompileTask":
    """Return what DSPy needs to compile a step or a recipe: program, trainset, devset, testset and
    metric.

    Args:
        name: a step, such as ``answer``, or a recipe, such as ``evolved``.
        labels: files of labels or gold rows beside the shipped ones; in each split, their rows come
            first.
        **options: ``rows`` (the most of each split), ``seed``, ``judge`` (of what is written; by
            default the fitted head); see :func:`groundset.optimizers.tasks.task`.

    Raises:
        InputError: there is no such step, or a file is wrong.
    """
    from groundset.optimizers.tasks import task, writes

    if writes(name) and "judge" not in options:
        options["judge"] = fitted_judge()
    return task(name, with_own(labels), own=[Path(file).expanduser() for file in labels], **options)


def fitted_judge(embedder: str = DEFAULT_EMBEDDER) -> "HeadJudge":
    """Return the shipped head of the judge."""
    from groundset.programs.heads import HeadJudge, load_heads
    from groundset.retrieval.embed import open_embedder

    return HeadJudge(
        "judge", load_heads(data_path("compiled", "head", "judge.json")), open_embedder(embedder)
    )


@for_python
def labels(
    which: str | Path = "questions", *, split: str | None = None, of: str = "judge"
) -> "list[dspy.Example]":
    """Return labels or gold rows as examples, with the inputs set.

    Args:
        which: ``chunks``, ``company-chunks``, ``questions``, ``strong``, ``company``, a step for
            all rows that are examples of it, or a file.
        split: ``train``, ``dev`` or ``test``; all by default.
        of: the step whose examples the rows of a file become.

    Raises:
        InputError: there are no such labels, or the file is wrong.
    """
    from groundset.optimizers.examples import examples
    from groundset.programs.step import STEPS

    if which in STEPS:
        found = examples(str(which), read_rows(shipped_files()))
    elif which in LABELS:
        found = examples(LABELS[str(which)], read_rows([data_path("labels", f"{which}.jsonl")]))
    elif Path(which).exists():
        ids = {row.id for row in read_rows([Path(which)])}
        found = [each for each in examples(of, read_rows(with_own([which]))) if each.id in ids]
    else:
        raise InputError(f"labels {which}: name a file, or one of {', '.join((*LABELS, *STEPS))}")
    return [example for example in found if split in (None, example.split)]


class LabelsOptions(Options):
    """Check files of labels and gold rows.

    Names every wrong row, repeated id and document in two splits, and exits with status 2 if there
    are any.
    """

    files: tuple[Path, ...] = option(
        ..., "Files of labels or gold rows in JSONL.", metavar="FILE...", argument=True
    )


def check_labels(options: LabelsOptions) -> None:
    """Print the problems of label files, or the number of rows.

    Raises:
        InputError: there are problems.
    """
    rows, problems = checked(options.files)
    for problem in problems[:_SHOWN]:
        say(problem)
    where = counted(len(options.files), "file")
    if problems:
        raise InputError(
            f"{counted(len(problems), 'problem')} in {where}; fix the rows named above"
        )
    splits = Counter(row.split for row in rows)
    by_split = ", ".join(f"{name} {splits[name]}" for name in SPLITS)
    say(f"{counted(len(rows), 'row')} in {where}: no problems; {by_split}.")
    if missing := [name for name in SPLITS if not splits[name]]:
        say(
            f"Without {' and '.join(missing)} rows: rows about one document lie in one split, which"
            " `split` can set."
        )


def shipped_files() -> list[Path]:
    """Return the shipped files of labels and gold rows."""
    gold = (data_path("gold", f"{name}.jsonl") for name in (*GOLD, "chunks", "twins"))
    return [
        *(data_path("labels", f"{name}.jsonl") for name in LABELS),
        *(file for file in gold if file.exists()),
    ]


def with_own(files: Sequence[str | Path]) -> list[Path]:
    """Return the shipped files of labels and a user's own; a shipped one may be named again."""
    shipped = {file.resolve(): file for file in shipped_files()}
    return list(
        {
            **{Path(file).expanduser().resolve(): Path(file).expanduser() for file in files},
            **shipped,
        }.values()
    )
