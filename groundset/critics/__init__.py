"""Critics: what decides, with a probability and a threshold."""

from collections.abc import Mapping
from typing import Any

from groundset.critics.ensemble import EnsembleCritic
from groundset.critics.head import HeadCritic
from optimizers.ensemble import Blend
from optimizers.heads import CriticHeads, Encoder
from programs.errors import InputError

CRITICS = ("head", "lm", "ensemble")


def open_critic(
    spec: str,
    *,
    embedder: Encoder | None,
    language_model: Any | None,
    heads: Mapping[str, CriticHeads] | None = None,
    blends: Mapping[str, Blend] | None = None,
) -> Any:
    """Return the decision client that ``spec`` names: ``head``, with the fitted heads by step, ``lm`` or ``ensemble``.

    Raises:
        InputError: if there is no such critic, or what it needs was not handed in.
    """
    if spec == "head":
        if embedder is None:
            raise InputError("--critic head needs an embedder.")
        return HeadCritic(embedder, heads)
    if spec in ("lm", "ensemble"):
        if language_model is None:
            raise InputError(f"--critic {spec} needs a language model (--lm).")
        from groundset.runtime.decisions import LogprobCritic

        critic = LogprobCritic(language_model.lm)
        if spec == "lm":
            return critic
        if not blends:
            raise InputError(
                f"--critic ensemble: nothing was compiled for {language_model.name}; compile it: "
                f"groundset compile judge --optimizer fit-ensemble --lm {language_model.name}."
            )
        return EnsembleCritic(open_critic("head", embedder=embedder, language_model=None, heads=heads), critic, blends)
    raise InputError(f"--critic {spec}: no such critic; choose one of {', '.join(CRITICS)}.")
