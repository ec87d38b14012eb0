"""What the optimizers raise on purpose; the application turns it into one line and exit status 2."""


class OptimizerError(Exception):
    """Base of the errors of this package; the message is one clear line that names the mend."""

    exit_code = 2


class LabelError(OptimizerError):
    """A label file cannot be read or breaks a rule; the message names the file and the line."""


class LeakError(OptimizerError):
    """A row of the test split was about to be trained on."""


class PromiseError(OptimizerError):
    """The labels cannot support the precision that was asked for."""


class StateError(OptimizerError):
    """A compiled state cannot be used; the message names the file and why."""


class StrategyError(OptimizerError):
    """A strategy lacks what it needs for a step: demos, a second model; the message names the option."""


class Stopped(BaseException):
    """Ends an optimizer from inside a call: the budget is spent, or the model failed (``__cause__`` says how).

    It is no ``Exception``, because DSPy counts those as failed examples and goes on.
    """


class TrackingError(OptimizerError):
    """The MLflow store cannot be reached or refuses something; the message names it."""


class PromotionError(OptimizerError):
    """A compile does not beat the champion, or is not known."""
