"""The Python face: functions whose parameters and documentation are made from the options of
commands.

A path may also be a run, which stands for its folder. Some functions are methods of runs, too:
``run.export(…)``.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from textwrap import fill
from types import MethodType
from typing import TYPE_CHECKING, Any, get_type_hints

from groundset.options import Options, as_parameters, for_python
from groundset.run.run import Run, open_run

if TYPE_CHECKING:
    import dspy

_WIDTH = 120

open_run = for_python(open_run)


# A row a function of Python: what it calls, which takes the options last, and which of these can be
# given by position.
FUNCTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "align": ("groundset.aligning:carry_over", ("run", "documents")),
    "chunk": ("groundset.corpus.corpus:cut", ("documents",)),
    "compile": ("groundset.compiling:compile", ("steps",)),
    "export": ("groundset.exports.export:export_run", ("runs", "format", "out")),
    "generate": ("groundset.run.command:make", ("documents",)),
    "import_files": ("groundset.exports.imports:import_files", ("files",)),
    "judge": ("groundset.run.judging:judge_rows", ()),
    "push": ("groundset.exports.hub:push_run", ("run", "repo")),
    "report": ("groundset.pages.report:report", ("run", "out")),
    "roundtrip": ("groundset.evaluation:compare", ("run",)),
}


def __getattr__(name: str) -> Any:
    """Build a function of :data:`FUNCTIONS` on first access."""
    if name not in FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    target, positional = FUNCTIONS[name]
    function = with_keywords(resolve_name(target), positional)
    function.__name__ = function.__qualname__ = name
    globals()[name] = function
    return function


def with_keywords(
    function: Callable[..., Any], positional: Sequence[str] = ()
) -> Callable[..., Any]:
    """Return a function that takes the fields of its options, which are its last parameter, as
    keywords.
    """
    *own, last = inspect.signature(function).parameters.values()
    options: type[Options] = last.annotation
    taken = _parameters(options, positional)
    signature = inspect.Signature(sorted([*own, *taken], key=lambda each: each.kind))

    @for_python
    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(*args, **kwargs).arguments
        first = {each.name: arguments.pop(each.name) for each in own if each.name in arguments}
        return function(**first, **{last.name: options.parse(arguments)})

    called.__signature__ = signature  # type: ignore[attr-defined]
    summary, raises, errors = str(function.__doc__).partition("Raises:")
    described = [_described(each.name, options.model_fields[each.name]) for each in taken]
    called.__doc__ = "\n".join([summary.rstrip(), "", "    Args:", *described])
    if raises:
        called.__doc__ += f"\n\n    {raises}{errors}"
    return called


def _parameters(options: type[Options], positional: Sequence[str]) -> list[inspect.Parameter]:
    """Return the fields of options as parameters, first those that can be given by position."""
    known, types = inspect.signature(options).parameters, get_type_hints(options)
    keywords = options.model_fields.keys() - options.with_fact("command_only")
    names = dict.fromkeys((*positional, *(name for name in known if name in keywords)))
    kinds = dict.fromkeys(positional, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [
        known[name].replace(annotation=types[name], kind=kinds.get(name, known[name].kind))
        for name in names
    ]


def _described(name: str, field: Any) -> str:
    """Return the lines on a parameter in the documentation of its function."""
    text = f"{name}: {field.description}"
    default = field.json_schema_extra["shown"] or field.default
    if default and not field.is_required():
        text += f" Default: {default}."
    return fill(as_parameters(text), _WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12)


class _Method:
    """A function as a method of runs, which is imported when it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: "Run | None", owner: object = None) -> Any:
        function = getattr(sys.modules[__name__], self._name)
        return function if run is None else MethodType(function, run)


for _name in ("align", "export", "push", "report", "roundtrip"):
    setattr(Run, _name, _Method(_name))


def lm(spec: str, **options: Any) -> "dspy.LM":
    """Return a language model for ``dspy.configure(lm=…)``.

    Args:
        spec: a name of `groundset models list`, a .gguf file, ``hf/<owner>/<repo>/<file>.gguf``,
            ``openai/<model>@<base url>`` or ``provider/model``.
        **options: see :func:`groundset.models.open.open_model`.

    Raises:
        ModelError: it cannot be found, verified or loaded.
    """
    from groundset.models.open import open_model

    return open_model(spec, **options).lm
