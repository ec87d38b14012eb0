"""The exceptions of groundset, with the exit status of each."""


class GroundsetError(Exception):
    """Base of all errors of groundset; the message is one line."""

    exit_code = 1


class InputError(GroundsetError):
    """The input or an option is wrong; the message names it and the mend. Exit status 2."""

    exit_code = 2


class StateError(InputError):
    """A compiled state or a demo cannot be used; the message names the file and why."""


class LabelError(InputError):
    """A label file cannot be read or is invalid; the message names the file and the line."""


class ModelError(GroundsetError):
    """A model cannot be found, fetched, verified or loaded."""


class UnknownModelError(ModelError, InputError):
    """The model specification is unknown, or names weights that cannot be loaded. Exit status 2."""


class UnreachableModelError(ModelError, InputError):
    """A server does not answer, refuses the key or does not have the model. Exit status 2."""


class ChecksumError(ModelError):
    """The SHA-256 of a model file is not the expected one; a downloaded file was deleted."""


class AnswerError(ModelError, InputError):
    """A model's answers cannot be used, whatever is asked; the message names what to check. Exit
    status 2.
    """


class RunError(InputError):
    """A run folder cannot be used: it is damaged, in use, or was made with other options; the
    message names it.
    """


class TrackingError(GroundsetError):
    """The MLflow store, which the message names, fails or refuses a request. Exit status 2."""

    exit_code = 2


class HubError(GroundsetError):
    """The Hugging Face Hub cannot be reached or refuses a request; the message says how to fix it.
    Exit status 2.
    """

    exit_code = 2


class CompileError(GroundsetError):
    """A compile cannot be made from what it was given; the message says how to fix it. Exit status
    2.
    """

    exit_code = 2


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says, or its name if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def wrapped(error: BaseException | None) -> GroundsetError | None:
    """Return the error of groundset that DSPy wrapped, None if there is none."""
    seen: list[BaseException] = []
    while error is not None and error not in seen:  # what is raised from itself is a circle
        if isinstance(error, GroundsetError):
            return error
        seen.append(error)
        error = error.__cause__
    return None
