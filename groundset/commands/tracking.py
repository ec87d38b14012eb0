"""The option that names a tracking store, and the line that says which one is used."""

from typing import Annotated

import typer

TrackingOption = Annotated[
    str | None,
    typer.Option(
        metavar="URI|FOLDER",
        help="The MLflow store, unless MLFLOW_TRACKING_URI names one.",
        show_default="mlruns/ if that folder is here, else one for all your projects",
    ),
]


def say_where(uri: str, *, usual: bool) -> None:
    """Say on standard error which store is used, unless it is the user's own one."""
    from groundset.printing import say
    from groundset.tracking.place import shown

    if not usual:
        say(f"Tracking store: {shown(uri)}", err=True)
