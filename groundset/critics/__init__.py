"""Critics: what decides, with a probability and a threshold."""

from collections.abc import Mapping
from typing import Any

from groundset.critics.head import HeadCritic
from groundset.errors import InputError
from optimizers.heads import CriticHeads, Encoder

CRITICS = ("head", "lm")


def open_critic(
    spec: str,
    *,
    embedder: Encoder | None,
    language_model: Any | None,
    heads: Mapping[str, CriticHeads] | None = None,
) -> Any:
    """Return the decision client that ``spec`` names: ``head``, with the fitted heads by step, or ``lm``.

    Raises:
        InputError: if there is no such critic, or what it needs was not handed in.
    """
    if spec == "head":
        if embedder is None:
            raise InputError("--critic head needs an embedder.")
        return HeadCritic(embedder, heads)
    if spec == "lm":
        if language_model is None:
            raise InputError("--critic lm needs a language model (--lm).")
        from groundset.runtime.decisions import LogprobCritic

        return LogprobCritic(language_model.lm)
    raise InputError(f"--critic {spec}: no such critic; choose one of {', '.join(CRITICS)}.")
