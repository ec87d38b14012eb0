"""The exception tree of the application and the exit statuses it maps to."""


class GroundsetError(Exception):
    """Base of every error that groundset raises on purpose; the message is one clear line."""

    exit_code = 1


class InputError(GroundsetError):
    """The input or an option is wrong; the message names it and the mend. Exit status 2."""

    exit_code = 2


class DocumentError(InputError):
    """A document cannot be read; the message names the file."""


class ModelError(GroundsetError):
    """A model cannot be found, fetched, verified or loaded."""


class UnknownModelError(ModelError, InputError):
    """The model specification names nothing that groundset knows. Exit status 2."""

    exit_code = 2


class ChecksumError(ModelError):
    """Downloaded bytes differ from the catalogue's SHA-256; the file has been deleted."""


class DownloadError(ModelError):
    """No source of a model could be reached."""


class EngineError(ModelError):
    """The embedded runtime crashed or refused to start."""


class RunError(GroundsetError):
    """A run folder cannot be used."""


class RunMismatchError(RunError, InputError):
    """The run folder was made with another configuration. Exit status 2."""

    exit_code = 2
