"""The exceptions of groundset, with the exit status of each."""


class GroundsetError(Exception):
    """Base of all errors of groundset; the message is one line."""

    exit_code = 1


class InputError(GroundsetError):
    """The input or an option is wrong; the message names it and says how to fix it. Exit status 2."""

    exit_code = 2


class DocumentError(InputError):
    """A document cannot be read; the message names the file."""


class StateError(InputError):
    """A compiled state cannot be used; the message names the file and why."""


class DemoError(InputError):
    """A file of demos cannot be used; the message names the file and the line."""


class ModelError(GroundsetError):
    """A model cannot be found, fetched, verified or loaded."""


class UnknownModelError(ModelError, InputError):
    """The model specification is unknown. Exit status 2."""

    exit_code = 2


class UnreachableModelError(ModelError, InputError):
    """A server does not answer, refuses the key or does not have the model. Exit status 2."""

    exit_code = 2


class UnsuitableServerError(UnreachableModelError):
    """A server refuses the key or does not have the model, so that trying it again does not help."""


class DamagedModelError(ModelError, InputError):
    """A folder does not contain a loadable model; the message names the file. Exit status 2."""

    exit_code = 2


class ChecksumError(ModelError):
    """The SHA-256 of a model file is not the expected one; a downloaded file was deleted."""


class CriticError(ModelError, InputError):
    """An answer of a critic is not a probability; the message names what to check. Exit status 2."""

    exit_code = 2


class DownloadError(ModelError):
    """No source of a model could be reached."""


class EngineError(ModelError):
    """The embedded runtime crashed or refused to start."""


class WeightsError(EngineError, InputError):
    """Weights specified by the user cannot be loaded; the message names the file. Exit status 2."""

    exit_code = 2


class ExecutorError(GroundsetError):
    """A part of the work cannot be done: its process died twice; the message names the part."""


class RunError(GroundsetError):
    """A run folder cannot be used."""


class RunMismatchError(RunError, InputError):
    """The run folder was made with another configuration. Exit status 2."""

    exit_code = 2


class DamagedRunError(RunError, InputError):
    """A run folder is damaged; the message names the file. Exit status 2."""

    exit_code = 2


class TrackingError(GroundsetError):
    """The MLflow store cannot be reached or refuses a request; the message names it. Exit status 2."""

    exit_code = 2


class HubError(GroundsetError):
    """The Hugging Face Hub cannot be reached or refuses a request; the message says how to fix it. Exit status 2."""

    exit_code = 2


class OptimizerError(GroundsetError):
    """Base of the errors of compiling; the message says how to fix it. Exit status 2."""

    exit_code = 2


class LabelError(OptimizerError):
    """A label file cannot be read or is invalid; the message names the file and the line."""


class LeakError(OptimizerError):
    """A row of the test split would be used for training."""


class TargetPrecisionError(OptimizerError):
    """The labels do not support the requested precision."""


class StrategyError(OptimizerError):
    """A strategy lacks something that it needs, such as demos or a second model; the message names the option."""


class PromotionError(OptimizerError):
    """A compile does not beat the champion, or is unknown."""


class Stopped(BaseException):
    """Ends an optimizer from inside a call: the budget is spent, or the model failed (see ``__cause__``).

    Not an ``Exception``, because DSPy counts those as failed examples and continues.
    """
