"""Drop the samples that meet a condition, such as ``kind == "time" and rank > 1``.

A condition uses Python syntax but is never executed: its syntax tree may only hold comparisons of columns.
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

STEP = "drop"  # step of the rejects
Row = Mapping[str, str | float]

# A missing value is an empty string, so that comparisons with it are false. The rank of a chunk not found is infinite,
# that of an unanswerable question is not a number.
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
    "rank": lambda sample: sample.retrieval.rank or (math.inf if sample.answerable else math.nan),
    "split": lambda sample: sample.split or "",
}
REVIEW = "review"  # column taken from reviews
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
        InputError: all samples would be dropped, or the condition or a folder is invalid.
        RunError: the new run cannot be written.
    """
    check_free(out)
    run = Run.loaded(folder)
    dropped = _dropped(run, where)
    if len(dropped) == len(run.samples):
        raise InputError(
            f"--where {where}: matches all {counted(len(dropped), 'sample')} of {folder}; none would be left"
        )
    kept = run.only(index for index in range(len(run.samples)) if index not in dropped)
    rejects = [reject_sample(run.samples[index], STEP, f"dropped: {where}") for index in sorted(dropped)]
    kept = kept.replace(rejects=[*run.rejects, *rejects])
    line = f"Dropped {len(dropped)} of {counted(len(run.samples), 'sample')}."
    return [line, *save_run(out, kept, run.lineage("drop", where=where))]


def list_drops(folder: Path, where: str) -> tuple[list[Sample], int]:
    """Return the samples that would be dropped and the total number of samples; write nothing."""
    run = Run.loaded(folder)
    return [run.samples[index] for index in sorted(_dropped(run, where))], len(run.samples)


def _dropped(run: Run, where: str) -> set[int]:
    """Return the indices of the samples that meet a condition, with the corrections of reviewers, as in an export."""
    samples = [corrected(sample, run.consensus.get(sample.id)) for sample in run.samples]
    return set(matching(where, samples, {item: consensus.verdict for item, consensus in run.consensus.items()}))


def matching(where: str, samples: Sequence[Sample], verdicts: Mapping[str, str]) -> list[int]:
    """Return the indices of the samples that meet a condition over ``COLUMNS``, ``review`` and profiles.

    ``verdicts`` has the verdict of reviewers by id; ``profile["Type"]`` is a dimension of a profile.
    """
    indices = []
    dimensions = dict.fromkeys(name for sample in samples for name in sample.profile)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about backslashes in strings
            condition = ast.parse(where.strip(), mode="eval").body
        for index, sample in enumerate(samples):
            row = {name: column(sample) for name, column in COLUMNS.items()}
            profile = {f"profile[{name!r}]": sample.profile.get(name, "") for name in dimensions}
            if _is_true(condition, {**row, REVIEW: verdicts.get(sample.id, ""), **profile}):
                indices.append(index)
    except SyntaxError as error:
        raise _condition_error(where, error.msg) from error
    except (ValueError, TypeError) as error:  # a null character; comparing a string with a number
        raise _condition_error(where, str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise InputError("--where: nested too deep") from error
    return indices


def _condition_error(where: str, problem: str) -> InputError:
    return InputError(f"""--where {where}: {problem}; example: kind == "time" and rank > 1""")


def _is_true(part: ast.expr, row: Row) -> bool:
    """Evaluate a condition without short-circuiting, so that an error is raised whatever the sample."""
    match part:
        case ast.BoolOp(op=ast.And(), values=parts):
            return all([_is_true(part, row) for part in parts])
        case ast.BoolOp(values=parts):
            return any([_is_true(part, row) for part in parts])
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _is_true(operand, row)
        case ast.Compare(left=left, ops=kinds, comparators=others) if all(type(kind) in _COMPARISONS for kind in kinds):
            _check_members(left, kinds, others)
            pairs = pairwise(_value(part, row) for part in (left, *others))
            return all([_COMPARISONS[type(kind)](*pair) for kind, pair in zip(kinds, pairs, strict=True)])
        case ast.Name() | ast.Subscript() | ast.Call():
            return bool(_value(part, row))
    raise ValueError("only comparisons, and, or, not and in are allowed")


def _check_members(left: ast.expr, kinds: Sequence[ast.cmpop], others: Sequence[ast.expr]) -> None:
    """Reject ``kind in ("time")``: the right side is a string, which contains every missing value."""
    for (part, whole), kind in zip(pairwise([left, *others]), kinds, strict=True):
        is_column = isinstance(part, ast.Name | ast.Subscript)
        if isinstance(kind, ast.In | ast.NotIn) and is_column and isinstance(whole, ast.Constant):
            raise ValueError(f"after a column, in needs a list: {ast.unparse(part)} in [{whole.value!r}]")


def _value(part: ast.expr, row: Row) -> Any:
    match part:
        case ast.Constant(value=str() | int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [_value(part, row) for part in parts]
        case ast.Name() | ast.Subscript() if (name := ast.unparse(part)) in row:
            return row[name]
        case ast.Name(id=name):
            raise ValueError(f"unknown column {name!r}, and string values need quotes; columns: {', '.join(row)}")
        case ast.Subscript(value=ast.Name(id="profile")):
            raise ValueError(f"no sample has {ast.unparse(part)}; columns: {', '.join(row)}")
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=arguments, keywords=[]) if method in _METHODS:
            return _METHODS[method](_value(text, row), *(_value(argument, row) for argument in arguments))
    raise ValueError("only columns, strings, numbers and lists of them can be compared")
