"""Labels and gold rows: as tasks of DSPy, and `groundset labels check`."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from groundset.files import data_path
from groundset.optimizers.labels import ROWS, SPLITS, GoldRow, checked, read_rows
from groundset.options import DEFAULT_EMBEDDER, DEFAULT_PARSER, Options, for_python, option
from groundset.printing import counted, say
from groundset.programs.errors import InputError
from groundset.run.recipes import GUIDED, compiled_whole

if TYPE_CHECKING:
    import dspy

    from groundset.models.open import Model
    from groundset.optimizers.tasks import CompileTask
    from groundset.programs.heads import HeadJudge

LABELS = ("chunks", "company-chunks", "questions", "strong", "company")  # the shipped ones
_SHOWN = 50  # problems of files


@for_python
def step(name: str, labels: Sequence[str | Path] = (), **options: Any) -> "CompileTask":
    """Return what DSPy needs to compile a step or a recipe: program, trainset, devset, testset and
    metric.

    Args:
        name: a step, such as ``answer``, or a recipe, such as ``evolved``.
        labels: files of labels or gold rows beside the shipped ones; in each split, their rows come
            first.
        **options: ``rows`` (the most of each split), ``seed``, ``judge`` (of what is written and
            unlike a gold row; by default ``qwen2.5-coder-1.5b``, opened when it is first asked);
            see :func:`groundset.optimizers.tasks.task`.

    Raises:
        InputError: there is no such step, or a file is wrong.
    """
    from groundset.models.open import open_model
    from groundset.optimizers.tasks import task, writes
    from groundset.run.options import JUDGE_LM

    options.setdefault("program", program_of(name))
    if writes(name) and "judge" not in options:
        options["judge"] = reading_judge(lambda: open_model(JUDGE_LM))
    return task(name, with_own(labels), own=[Path(file).expanduser() for file in labels], **options)


def reading_judge(opened: "Callable[[], Model]") -> "Callable[..., dspy.Prediction]":
    """Return the shipped judge of questions with a model that reads, which is opened when it is
    first asked.
    """
    lock = Lock()

    @cache
    def judge() -> "dspy.Module":
        from groundset.programs.step import step
        from groundset.run.compiled import SHIPPED, load_compiled

        model, built = opened(), step("judge")
        load_compiled(SHIPPED, model.name).apply([built])
        built.lm = model.lm
        return built

    def judged(**inputs: Any) -> "dspy.Prediction":
        with lock:
            built = judge()
        return built(**inputs)

    return judged


def program_of(
    name: str, compiled: str = "shipped", embedder: str = DEFAULT_EMBEDDER
) -> "dspy.Module | None":
    """Return what can be compiled as a whole: a recipe's program, or ``guided``, with its heads;
    None for a step.

    Raises:
        InputError: there is no such step or program.
    """
    from groundset.programs.guided import Guided
    from groundset.programs.step import STEPS

    if name in STEPS:
        return None
    if name == GUIDED:
        return Guided(**guided_parts(compiled, embedder))
    programs = compiled_whole()
    if name not in programs:
        known = ", ".join((*STEPS, *programs, GUIDED))
        raise InputError(f"STEP {name}: there is no such step or recipe; choose from {known}")
    return programs[name]()


def fitted_judge(embedder: str = DEFAULT_EMBEDDER) -> "HeadJudge":
    """Return the shipped head of the judge."""
    return _heads("shipped", embedder)["judge"]


def guided_parts(compiled: str = "shipped", embedder: str = DEFAULT_EMBEDDER) -> dict[str, Any]:
    """Return what the program of guided models is built of: a parser of English, and heads."""
    from groundset.models.parser import open_parser

    return {"parse": open_parser(DEFAULT_PARSER), **_heads(compiled, embedder)}


def _heads(compiled: str, embedder: str) -> "dict[str, HeadJudge]":
    from groundset.programs.heads import HeadJudge
    from groundset.retrieval.embed import open_embedder
    from groundset.run.compiled import load_compiled

    encoder, fitted = open_embedder(embedder), load_compiled(compiled, "").heads
    return {name: HeadJudge(name, heads, encoder) for name, heads in fitted.items()}


class LabelsOptions(Options):
    """Check files of labels and gold rows, and count what they add to the train rows of steps.

    Names every wrong row, repeated id, document in two splits, and gold row that the metric of its
    step gives nothing, and exits with status 2 if there are any.
    """

    files: tuple[Path, ...] = option(
        ..., "Files of labels or gold rows in JSONL.", metavar="FILE...", argument=True
    )


def check_labels(options: LabelsOptions) -> None:
    """Print the problems of label files, or how many rows there are, and train rows of each step.

    Raises:
        InputError: there are problems.
    """
    from groundset.optimizers.tasks import fault_of

    rows, problems = checked(options.files)
    problems = problems or checked(with_own(options.files))[1]
    problems = problems or [
        f"{row.step} {row.id}: {fault}"
        for row in rows
        if isinstance(row, GoldRow) and (fault := fault_of(row))
    ]
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
    for line in _train_rows(options.files):
        say(line)
    if missing := [name for name in SPLITS if not splits[name]]:
        say(
            f"Without {' and '.join(missing)} rows: rows about one document lie in one split, which"
            " `split` can set."
        )


def _train_rows(files: Sequence[Path]) -> Iterator[str]:
    """Yield for each step how many of the rows of files are taken to train on."""
    from groundset.optimizers.examples import examples
    from groundset.optimizers.tasks import in_splits
    from groundset.programs.step import STEPS

    own, rows = read_rows(files), read_rows(with_own(files))
    ids = {row.id for row in own}
    for step in STEPS:
        if examples(step, own):
            train = in_splits(step, rows, own=own)["train"][:ROWS]
            taken = Counter(row.get("good") for row in train if row.id in ids)
            named = {True: "good", False: "bad", None: "own"}
            shown = " and ".join(f"{taken[each]} {named[each]}" for each in named if each in taken)
            yield f"{step}: {shown or 'none'} of them among {counted(len(train), 'train row')}."


def shipped_files() -> list[Path]:
    """Return the shipped files of labels and gold rows."""
    labels = [data_path("labels", f"{name}.jsonl") for name in LABELS]
    return labels + sorted(data_path("gold").glob("*.jsonl"))


def with_own(files: Sequence[str | Path]) -> list[Path]:
    """Return the shipped files of labels and a user's own; a shipped one may be named again."""
    paths = [*(Path(file).expanduser() for file in files), *shipped_files()]
    return list({file.resolve(): file for file in paths}.values())
