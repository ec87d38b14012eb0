"""The critics by name, and how to open them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from programs.critics.base import Critic, Encoder
from programs.critics.ensemble import Blend, EnsembleCritic
from programs.critics.heads import CriticHeads, HeadCritic
from programs.critics.logprobs import LogprobCritic
from programs.critics.remembering import CachingEncoder
from programs.critics.verdict import VerdictCritic
from programs.errors import InputError
from programs.languages.table import Languages
from programs.steps import STEPS


@dataclass(frozen=True)
class _Parts:
    """The arguments of :func:`open_critics`."""

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
    """Return the critic of each step that decides.

    Args:
        spec: one of ``CRITICS``.
        languages: the known languages.
        embedder: embeds texts for the heads; it gets a cache unless it is a ``CachingEncoder``.
        language_model: has a ``name`` and the client ``lm``; the critics ``lm`` and ``ensemble`` need logprobs.
        heads: the fitted heads by step; other steps use weights set by hand.
        blends: the blends by step; for other steps, the head decides alone.

    Raises:
        InputError: the critic is unknown, or lacks something that it needs.
    """
    check_critic(spec)
    return CRITICS[spec](_Parts(languages, embedder, language_model, heads or {}, blends or {}))


def open_panel(language_model: Any) -> dict[str, Critic]:
    """Return the critic of the step ``panel``: a language model, which has the client ``lm``."""
    return {step: VerdictCritic(language_model.lm, step) for step, row in STEPS.items() if row.gives_reasons}


def check_critic(spec: str, language_model: str | None = None) -> None:
    """Refuse an unknown critic, and a language model for a critic that uses none.

    Raises:
        InputError: the message names the option.
    """
    if spec not in CRITICS:
        raise InputError(f"--critic {spec}: no such critic; choose one of {', '.join(CRITICS)}")
    if language_model is not None and spec in MODEL_FREE:
        others = ", ".join(name for name in CRITICS if name not in MODEL_FREE)
        raise InputError(
            f"--critic-lm {language_model}: the critic {spec} asks no language model; choose another critic with "
            f"--critic ({others}), or omit --critic-lm"
        )


def _deciding_steps() -> list[str]:
    return [name for name, step in STEPS.items() if step.any_critic]


def _open_heads(parts: _Parts) -> dict[str, Critic]:
    if parts.embedder is None:
        raise InputError("--critic head needs an embedder")
    encoder = parts.embedder if isinstance(parts.embedder, CachingEncoder) else CachingEncoder(parts.embedder)
    return {step: HeadCritic(step, encoder, parts.languages, parts.heads.get(step)) for step in _deciding_steps()}


def _language_model(parts: _Parts, spec: str) -> Any:
    if parts.language_model is None:
        raise InputError(f"--critic {spec} needs a language model (--lm)")
    return parts.language_model


def _open_lm(parts: _Parts) -> dict[str, Critic]:
    return dict.fromkeys(_deciding_steps(), LogprobCritic(_language_model(parts, "lm").lm))


def _open_verdicts(parts: _Parts) -> dict[str, Critic]:
    lm = _language_model(parts, "verdict").lm
    return {step: VerdictCritic(lm, step) for step in _deciding_steps()}


def _open_ensembles(parts: _Parts) -> dict[str, Critic]:
    language_model = _language_model(parts, "ensemble")
    if not parts.blends:
        name = language_model.name
        raise InputError(
            f"--critic ensemble: not compiled for {name}; run "
            f"`groundset compile judge --optimizer fit-ensemble --lm {name}`"
        )
    model = LogprobCritic(language_model.lm)
    heads = _open_heads(parts)
    return heads | {step: EnsembleCritic(heads[step], model, blend) for step, blend in parts.blends.items()}


MODEL_FREE = frozenset({"head"})  # critics without a language model
EMBEDDING = frozenset({"head", "ensemble"})  # critics that need an embedder
SCORING = frozenset({"lm", "verdict"})  # critics that rate chunks from 0 to 2
CRITICS: Mapping[str, Callable[[_Parts], dict[str, Critic]]] = {
    "head": _open_heads,
    "lm": _open_lm,
    "ensemble": _open_ensembles,
    "verdict": _open_verdicts,
}
