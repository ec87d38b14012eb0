"""Promotion of a compile to champion of its step and model."""

import math
from pathlib import Path
from tempfile import TemporaryDirectory

from groundset.privacy import without_secrets
from groundset.tracking.compiles import ROWS_FILE, CompileStore
from groundset.tracking.store import CHAMPION, PREFIX, STATE_FILE, tracking_errors
from optimizers.measures import Interval, Score, gains_over
from programs.critics.states import check_state, parse_state
from programs.errors import PromotionError
from programs.steps import STEPS

_NEWEST = 3  # compiles suggested in a message


def promote(store: CompileStore, run_id: str) -> tuple[str, dict[str, Interval]]:
    """Make a compile the champion of its step and model; return the model name and the gains on dev and test rows.

    It must beat the champion, or the uncompiled step if there is none, significantly on the common dev rows, which
    must be of five documents or more.

    Raises:
        PromotionError: no significant gain, compile unfinished or unknown, or damaged scores.
        StateError: the state is damaged or for another version.
    """
    with tracking_errors(store.uri):
        versions = store.client.search_model_versions(f"run_id='{run_id}'")
        if not versions:
            raise PromotionError(_why_unregistered(store, run_id))
        name, version = versions[0].name, versions[0].version
        run, champion = store.client.get_run(run_id).data, store.champions().get(name)
        rival = run if champion is None else store.client.get_run(champion.run_id).data
        new = _scores(run_id, "after")
        if champion is None:
            old = _scores(run_id, "before")
        elif champion.run_id == run_id:
            raise PromotionError(f"{run_id} is the champion already")
        else:
            weights = {data.params.get("model_sha256") for data in (run, rival)}
            if len(weights) > 1 and all(weights):
                raise PromotionError(
                    f"{run_id} was compiled for other weights than the champion {champion.run_id}; rename one model "
                    f"file, or delete the alias {CHAMPION} of {name} in `groundset ui` and promote again"
                )
            old = _scores(champion.run_id, "after")
        try:
            gains = gains_over(old, new, max(1, int(run.metrics.get("tried", 1))))
        except PromotionError as error:
            raise PromotionError(f"{run_id} is not promoted: {error}") from None
        if not gains:
            optimizers = [data.tags.get("optimizer", "") for data in (run, rival)]
            if champion is not None and optimizers[0] != optimizers[1]:
                raise PromotionError(
                    f"{run_id} ({optimizers[0]}) and the champion {champion.run_id} ({optimizers[1]}) have no common "
                    "dev rows and may use different measures; review samples of both, and if the new one is better, "
                    f"delete the alias {CHAMPION} of {name} in `groundset ui` and promote again"
                )
            raise PromotionError("the two compiles have no common dev rows; compile again with the same labels")
        _check_state(store, run_id)
        store.client.set_registered_model_alias(name, CHAMPION, version)
    return name, gains


def _why_unregistered(store: CompileStore, run_id: str) -> str:
    """Return why a run has no registered state."""
    found = store.experiments()
    for entry in found:
        if entry.run_id == run_id and entry.finished:
            return f"{run_id}: its state was not sent to the store; compile again with --track-texts"
        if entry.run_id == run_id:
            reason = entry.status.lower() + (f": {entry.error}" if entry.error else "")
            return f"{run_id}: compile did not finish ({reason}); only finished compiles can be promoted"
    if not _is_generation(store, run_id):
        return f"{run_id}: no such compile; `groundset experiments` lists compiles"
    finished = sorted((entry for entry in found if entry.finished), key=lambda entry: -entry.started)
    newest = ", ".join(f"{entry.step} for {entry.model} ({entry.run_id})" for entry in finished[:_NEWEST])
    hint = f"the newest compiles are {newest}" if newest else "there are no compiles yet"
    return f"{run_id} is a run of `groundset generate`; only compiles can be promoted; {hint}"


def _is_generation(store: CompileStore, run_id: str) -> bool:
    """Return whether the id belongs to a run of `groundset generate`."""
    from mlflow.exceptions import MlflowException

    try:
        run = store.client.get_run(run_id)
    except MlflowException:
        return False
    experiment = store.client.get_experiment_by_name(f"{PREFIX}-generate")
    return experiment is not None and run.info.experiment_id == experiment.experiment_id


def _scores(run_id: str, version: str) -> dict[tuple[str, str], Score]:
    """Return the score of each row by split and id."""
    import mlflow
    import pandas as pd

    with TemporaryDirectory() as folder:
        rows = pd.read_parquet(
            mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=ROWS_FILE, dst_path=folder)
        )
    documents = rows.get("document", rows["id"])  # missing in older compiles
    values = [float(value) for value in rows[f"{version}_score"]]
    if not all(map(math.isfinite, values)):
        raise PromotionError(f"{ROWS_FILE} of {run_id} is damaged; it holds scores that are not finite numbers")
    found = zip(rows["split"], rows["id"], values, documents, strict=True)
    return {(split, id_): Score(value, str(document)) for split, id_, value, document in found}


def _check_state(store: CompileStore, run_id: str) -> None:
    """Raise a ``StateError`` if the state of a compile is damaged or does not fit its step."""
    import mlflow

    with TemporaryDirectory() as folder:
        file = mlflow.artifacts.download_artifacts(run_id=run_id, artifact_path=STATE_FILE, dst_path=folder)
        source = f"{STATE_FILE} of {run_id} in {without_secrets(store.uri)}"
        state = parse_state(Path(file), source)
        check_state(state, STEPS[state.step].signature, source)
