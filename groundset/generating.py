"""The Python function :func:`generate`.

A module of its own because its signature needs the recipes, which import DSPy.
"""

import inspect
import signal
import warnings
from typing import Any

from groundset.api import open_run
from groundset.commands.declare import as_values, with_arguments
from groundset.commands.generate import GenerateOptions, generate_parameters
from groundset.engine.config import RunConfig
from groundset.engine.making import make_run
from groundset.options import as_parameters, for_python
from groundset.public_run import OpenedRun
from groundset.store.record import run_files

_PARAMETERS = sorted(generate_parameters(), key=lambda each: each.python_name != "docs")


@for_python
def generate(*args: Any, **kwargs: Any) -> OpenedRun:
    """Make an evaluation set of questions, contexts and answers from documents.

    The run is a folder; the same call continues a stopped or killed run, and returns a finished one at once. Ctrl-C, or
    a notebook's stop button, ends it after the running language model call and returns the unfinished run: see
    ``Run.is_complete``. A second Ctrl-C does not wait, and before the folder exists ``KeyboardInterrupt`` is raised as
    usual. A run with fewer samples than requested is not an error; ``Run.summary`` says why.

    Raises:
        InputError: the input, an option or the folder is wrong; the message names it, and nothing was written.
        GroundsetError: the run cannot continue; finished work is stored.
    """
    names = {*RunConfig.model_fields, *(each.python_name for each in _PARAMETERS)}
    unknown = {name: value for name, value in kwargs.items() if name not in names}  # make_config refuses them
    known = {name: value for name, value in kwargs.items() if name in names}
    values = unknown | as_values(_PARAMETERS, inspect.signature(generate).bind(*args, **known).arguments)
    own = {name: values.pop(name) for name in GenerateOptions.model_fields if name in values}
    options = GenerateOptions.parse(own)
    try:
        made = make_run(values, **dict(options))
    except KeyboardInterrupt:
        if not run_files(options.out).record.is_file():
            raise
        return open_run(options.out)
    ended_by = made.result.signal
    if ended_by is not None and ended_by != signal.SIGINT:
        signal.raise_signal(ended_by)  # SIGTERM ends the process as usual; the run is stored
    if made.untracked:
        warnings.warn(as_parameters(made.untracked), stacklevel=3)
    return open_run(options.out)


generate.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [each.for_python(each.python_name == "docs") for each in _PARAMETERS]
)
generate.__doc__ = with_arguments(str(generate.__doc__), _PARAMETERS)
