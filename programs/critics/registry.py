"""The critics that a user can pick, by name, and how each is opened for every step that decides."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from programs.critics.base import Critic, Encoder
from programs.critics.ensemble import Blend, EnsembleCritic
from programs.critics.heads import CriticHeads, HeadCritic
from programs.critics.logprobs import LogprobCritic
from programs.critics.remembering import RememberingEncoder
from programs.critics.verdict import VerdictCritic
from programs.errors import InputError
from programs.languages.table import Languages
from programs.steps import STEPS


@dataclass(frozen=True)
class _Parts:
    """What critics are opened with; see :func:`open_critics`."""

    languages: Languages
    embedder: Encoder | None
    language_model: Any | None
    heads: Mapping[str, CriticHeads] = field(default_factory=dict)
    blends: Mapping[str, Blend] = field(default_factory=dict)


def open_critics(
    spec: str,
    *,
    languages: Languages,
    embedder: Encoder | None = None,
    language_model: Any | None = None,
    heads: Mapping[str, CriticHeads] | None = None,
    blends: Mapping[str, Blend] | None = None,
) -> dict[str, Critic]:
    """Return the critic of each step that decides; those that embed share their vectors.

    Args:
        spec: one of ``CRITICS``.
        languages: what the evidence of the heads knows of languages.
        embedder: of the heads; a memory of vectors is shared with whoever made it.
        language_model: has a ``name``, and the client ``lm``; of ``lm`` and ``ensemble`` it returns log-probabilities.
        heads: the fitted heads by step; a step without decides as set by hand.
        blends: by step how head and model decide together; a step without is the head's alone.

    Raises:
        InputError: there is no such critic, or what it needs was not handed in.
    """
    check_critic(spec)
    return CRITICS[spec](_Parts(languages, embedder, language_model, heads or {}, blends or {}))


def check_critic(spec: str, language_model: str | None = None) -> None:
    """Refuse an unknown critic, and a second language model for a critic that asks none.

    Raises:
        InputError: the message names the option.
    """
    if spec not in CRITICS:
        raise InputError(f"--critic {spec}: no such critic; choose one of {', '.join(CRITICS)}")
    if language_model is not None and spec in MODEL_FREE:
        asking = ", ".join(name for name in CRITICS if name not in MODEL_FREE)
        raise InputError(
            f"--critic-lm {language_model}: the critic {spec} asks no language model; name another with --critic "
            f"({asking}), or leave --critic-lm out"
        )


def _deciding() -> list[str]:
    return [name for name, step in STEPS.items() if step.decides and not step.taught]


def _open_heads(parts: _Parts) -> dict[str, Critic]:
    if parts.embedder is None:
        raise InputError("--critic head needs an embedder")
    given = parts.embedder
    encoder = given if isinstance(given, RememberingEncoder) else RememberingEncoder(given)
    return {step: HeadCritic(step, encoder, parts.languages, parts.heads.get(step)) for step in _deciding()}


def _open_lm(parts: _Parts) -> dict[str, Critic]:
    if parts.language_model is None:
        raise InputError("--critic lm needs a language model (--lm)")
    return dict.fromkeys(_deciding(), LogprobCritic(parts.language_model.lm))


def _open_verdicts(parts: _Parts) -> dict[str, Critic]:
    if parts.language_model is None:
        raise InputError("--critic verdict needs a language model (--lm)")
    return {step: VerdictCritic(parts.language_model.lm, step) for step in _deciding()}


def _open_ensembles(parts: _Parts) -> dict[str, Critic]:
    if parts.language_model is None:
        raise InputError("--critic ensemble needs a language model (--lm)")
    if not parts.blends:
        name = parts.language_model.name
        raise InputError(
            f"--critic ensemble: nothing was compiled for {name}; compile it: "
            f"`groundset compile judge --optimizer fit-ensemble --lm {name}`"
        )
    model = LogprobCritic(parts.language_model.lm)
    heads = _open_heads(parts)
    return heads | {step: EnsembleCritic(heads[step], model, blend) for step, blend in parts.blends.items()}


MODEL_FREE = frozenset({"head"})  # their decisions cost no call of a language model
EMBEDDING = frozenset({"head", "ensemble"})  # they need an embedder
SCORING = frozenset({"lm", "verdict"})  # they judge the scores of a chunk, which no head was fitted to
CRITICS: Mapping[str, Callable[[_Parts], dict[str, Critic]]] = {
    "head": _open_heads,
    "lm": _open_lm,
    "ensemble": _open_ensembles,
    "verdict": _open_verdicts,
}
