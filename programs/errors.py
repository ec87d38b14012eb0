"""Everything that groundset raises on purpose: one tree, and the exit status of each branch."""


class GroundsetError(Exception):
    """Base of every error that groundset raises on purpose; the message is one clear line."""

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
    """The model specification names nothing that groundset knows. Exit status 2."""

    exit_code = 2


class UnreachableModelError(ModelError, InputError):
    """A server does not answer, refuses the key or does not have the model. Exit status 2."""

    exit_code = 2


class DamagedModelError(ModelError, InputError):
    """What a folder holds is no model that can be loaded; the message names the file. Exit status 2."""

    exit_code = 2


class ChecksumError(ModelError):
    """Bytes of a model are not those of the SHA-256 that is known of it; what was downloaded has been deleted."""


class CriticError(ModelError, InputError):
    """A critic says what is no probability; the message names what is damaged. Exit status 2."""

    exit_code = 2


class DownloadError(ModelError):
    """No source of a model could be reached."""


class EngineError(ModelError):
    """The embedded runtime crashed or refused to start."""


class WeightsError(EngineError, InputError):
    """Weights that a user named cannot be loaded; the message names the file. Exit status 2."""

    exit_code = 2


class RunError(GroundsetError):
    """A run folder cannot be used."""


class RunMismatchError(RunError, InputError):
    """The run folder was made with another configuration. Exit status 2."""

    exit_code = 2


class DamagedRunError(RunError, InputError):
    """What a run folder stores is not what a run writes; the message names the file. Exit status 2."""

    exit_code = 2


class TrackingError(GroundsetError):
    """The MLflow store cannot be reached or refuses something; the message names it. Exit status 2."""

    exit_code = 2


class HubError(GroundsetError):
    """The Hugging Face Hub cannot be reached or refuses something; the message says how to fix it. Exit status 2."""

    exit_code = 2


class OptimizerError(GroundsetError):
    """Base of what compiling raises; the message is one clear line that says how to fix it. Exit status 2."""

    exit_code = 2


class LabelError(OptimizerError):
    """A label file cannot be read or breaks a rule; the message names the file and the line."""


class LeakError(OptimizerError):
    """A row of the test split was about to be trained on."""


class TargetPrecisionError(OptimizerError):
    """The labels cannot support the precision that was asked for."""


class StrategyError(OptimizerError):
    """A strategy lacks what it needs for a step: demos, a second model; the message names the option."""


class PromotionError(OptimizerError):
    """A compile does not beat the champion, or is not known."""


class Stopped(BaseException):
    """Ends an optimizer from inside a call: the budget is spent, or the model failed (``__cause__`` says how).

    It is no ``Exception``, because DSPy counts those as failed examples and goes on.
    """
