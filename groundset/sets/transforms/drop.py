"""Drop the samples that meet a condition, such as ``kind == "time" and rank > 1``.

A condition is spelt like Python and never run as such: only comparisons over the columns of a sample are read off its
syntax tree.
"""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from groundset.progress import counted
from groundset.run import Run, reject_sample, save_run
from groundset.store.folder import check_free
from groundset.store.reviews import corrected
from programs.errors import InputError
from programs.text import tokens
from programs.types import Sample

STEP = "drop"  # of the rejects that dropped samples become
Row = Mapping[str, str | float]

# What is missing is an empty text, so that a comparison with it is false rather than an error. What a search did not
# find is further than any rank.
COLUMNS: Mapping[str, Callable[[Sample], str | float]] = {
    "id": lambda sample: sample.id,
    "question": lambda sample: sample.question,
    "answer": lambda sample: sample.answer,
    "length": lambda sample: len(tokens(sample.question)),
    "evolution": lambda sample: sample.evolution,
    "kind": lambda sample: str(sample.metadata.get("kind") or ""),
    "language": lambda sample: sample.language,
    "document": lambda sample: ", ".join(dict.fromkeys(chunk.path for chunk in sample.contexts)),
    "passages": lambda sample: len(sample.contexts),
    "probability": lambda sample: sample.probability,
    "rank": lambda sample: math.inf if sample.retrieval.rank is None else sample.retrieval.rank,
    "split": lambda sample: sample.split or "",
}
REVIEW = "review"  # the column that a sample does not know itself
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
}
_METHODS: Mapping[str, Callable[..., str | bool]] = {
    "lower": str.lower,
    "startswith": str.startswith,
    "endswith": str.endswith,
}


def drop_run(folder: Path, where: str, out: Path) -> list[str]:
    """Write a new run whose samples that meet a condition become rejects; return its summary.

    Raises:
        InputError: nothing would be left, or the condition or a folder is wrong.
        RunError: the new run cannot be written.
    """
    check_free(out)
    run = Run.loaded(folder)
    going = _going(run, where)
    if len(going) == len(run.samples):
        raise InputError(f"--where {where}: it holds for every sample of {folder}, and nothing would be left")
    kept = run.only(place for place in range(len(run.samples)) if place not in going)
    rejects = [reject_sample(run.samples[place], STEP, f"dropped: {where}") for place in sorted(going)]
    kept = kept.replace(rejects=[*run.rejects, *rejects])
    line = f"Dropped {len(going)} of {counted(len(run.samples), 'sample')}."
    return [line, *save_run(out, kept, run.lineage("drop", where=where))]


def list_drops(folder: Path, where: str) -> tuple[list[Sample], int]:
    """Return the samples of a run that would be dropped, and how many there are in all; nothing is written."""
    run = Run.loaded(folder)
    return [run.samples[place] for place in sorted(_going(run, where))], len(run.samples)


def _going(run: Run, where: str) -> set[int]:
    """Return the places of the samples that meet a condition, with the corrections of reviewers, as in an export."""
    samples = [corrected(sample, run.consensus.get(sample.id)) for sample in run.samples]
    return set(matching(where, samples, {item: found.verdict for item, found in run.consensus.items()}))


def matching(where: str, samples: Sequence[Sample], verdicts: Mapping[str, str]) -> list[int]:
    """Return the places of the samples that meet a condition over ``COLUMNS`` and ``review``, the verdict by id."""
    found = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a backslash in a text
            condition = ast.parse(where.strip(), mode="eval").body
        for place, sample in enumerate(samples):
            row = {name: column(sample) for name, column in COLUMNS.items()}
            if _holds(condition, {**row, REVIEW: verdicts.get(sample.id, "")}):
                found.append(place)
    except SyntaxError as error:
        raise _wrong(where, error.msg) from error
    except (ValueError, TypeError) as error:  # of a null character; of a comparison of a text with a number
        raise _wrong(where, str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise InputError("--where: nested too deep") from error
    return found


def _wrong(where: str, why: str) -> InputError:
    return InputError(f"""--where {where}: {why}; write it as in kind == "time" and rank > 1""")


def _holds(part: ast.expr, row: Row) -> bool:
    """Return whether a condition holds; every part is evaluated, so that an error shows with any sample."""
    match part:
        case ast.BoolOp(op=ast.And(), values=parts):
            return all([_holds(part, row) for part in parts])
        case ast.BoolOp(values=parts):
            return any([_holds(part, row) for part in parts])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _holds(operand, row)
        case ast.Compare(left=left, ops=kinds, comparators=others) if all(type(kind) in _COMPARISONS for kind in kinds):
            _check_members(left, kinds, others)
            pairs = pairwise(_value(part, row) for part in (left, *others))
            return all([_COMPARISONS[type(kind)](*pair) for kind, pair in zip(kinds, pairs, strict=True)])
        case ast.Name() | ast.Call():
            return bool(_value(part, row))
    raise ValueError("only comparisons, and, or, not and in are known")


def _check_members(left: ast.expr, kinds: Sequence[ast.cmpop], others: Sequence[ast.expr]) -> None:
    """Refuse a column in a text, such as ``kind in ("time")``: a missing value would be in every text."""
    for (part, whole), kind in zip(pairwise([left, *others]), kinds, strict=True):
        if isinstance(kind, ast.In | ast.NotIn) and isinstance(part, ast.Name) and isinstance(whole, ast.Constant):
            raise ValueError(f"in takes a list after a column: {part.id} in [{whole.value!r}]")


def _value(part: ast.expr, row: Row) -> Any:
    match part:
        case ast.Constant(value=str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [_value(part, row) for part in parts]
        case ast.Name(id=name) if name in row:
            return row[name]
        case ast.Name(id=name):
            raise ValueError(f"there is no {name}, only {', '.join(row)}, and texts stand in quotes")
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=arguments, keywords=[]) if method in _METHODS:
            return _METHODS[method](_value(text, row), *(_value(argument, row) for argument in arguments))
    raise ValueError("only columns, texts, numbers and lists of them can be compared")
