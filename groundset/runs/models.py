"""The models of a run: what is checked before anything is written, and loaded when it is needed."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from groundset.models.specs import LocalSpec, ModelSpec, OpenAISpec, ensure_available, parse_spec
from groundset.runs.config import RunConfig
from groundset.runs.identity import Identity, ModelName, with_models
from groundset.runs.stop import StoppableJournal
from programs.languages import LANGUAGES
from programs.languages.table import Languages

Open = Callable[..., Any]


def languages_with(parser: Any) -> Languages:
    """Return the table of languages with a parser; without one, the form of an answer makes it easy."""
    return Languages(LANGUAGES, parser if parser.sha256 else None)


class Openers(NamedTuple):
    """What opens the models of a run; by default the real ones. A seam for tests."""

    language_model: Open | None = None
    embedder: Open | None = None
    critics: Open | None = None


class RunModels:
    """The models of one run.

    A model on a server is opened, and thereby checked, at once. Weights are only verified: they are loaded when the
    language model is asked for, so that what comes before has all cores and the memory for itself.

    Attributes:
        embedder, parser: loaded.
        name: what names the language model.
        adapters: files of trained weights by hash; see :meth:`take`.
    """

    def __init__(
        self,
        config: RunConfig,
        openers: Openers,
        stack: ExitStack,
        journal: StoppableJournal,
        *,
        tell: Callable[[str], object],
        verbose: bool,
    ) -> None:
        """Open or verify the models that a configuration names; ``stack`` closes them.

        ``tell`` is told of each and of who gets texts.

        Raises:
            ModelError: one cannot be found, fetched, verified or reached.
        """
        from groundset.retrieval.embedder import load_embedder
        from groundset.runtime.lms import open_lm
        from groundset.runtime.parser import NONE, load_parser

        spec = _spec_of(config) if openers.language_model is None else None
        if spec is not None:
            spec = ensure_available(spec)  # before documents are read, which can take minutes
        self._spec, self._tell = spec, tell
        self.take({})
        tell(f"Loading the embedding model {config.embedder}.")
        self.embedder: Any = (openers.embedder or load_embedder)(config.embedder)
        if config.parser != NONE:
            tell(f"Loading the parser {config.parser}.")
        self.parser = load_parser(config.parser)
        self._stack = stack
        self._opened: Any = None

        def open_model() -> Any:
            opener = openers.language_model or open_lm
            if isinstance(spec, LocalSpec):
                tell(f"Loading the language model {config.lm}.")
            return opener(
                spec or config.lm,
                journal=journal,
                workers=config.workers,
                adapters=self.adapters,
                verbose=verbose,
                tell=tell,
            )

        self._open = open_model
        if isinstance(spec, LocalSpec):
            self.name = ModelName(spec.name, spec.sha256)
        else:
            self.name = ModelName(self.language_model.name, self.language_model.sha256)

    def take(self, adapters: Mapping[str, Path]) -> None:
        """Load the language model with these adapters when it is asked for.

        Raises:
            WeightsError: one of them cannot be loaded.
        """
        from groundset.runtime.trial import check_weights

        if isinstance(self._spec, LocalSpec):
            check_weights(self._spec, adapters, self._tell)
        self.adapters: Mapping[str, Path] = adapters

    @property
    def language_model(self) -> Any:
        """Return the language model, loaded at the first call."""
        if self._opened is None:
            self._opened = self._stack.enter_context(self._open())
        return self._opened

    @cached_property
    def languages(self) -> Languages:
        """Return what is known of languages, with the syntax of those that the parser reads."""
        return languages_with(self.parser)

    def named(self, identity: Identity) -> Identity:
        """Return an identity together with the models."""
        others = {"embedder": self.embedder, "parser": self.parser}
        return with_models(
            identity, lm=self.name, **{key: ModelName(model.name, model.sha256) for key, model in others.items()}
        )


def _spec_of(config: RunConfig) -> ModelSpec:
    """Return what a configuration names; a key goes to another machine only if a person named its address."""
    spec = parse_spec(config.lm)
    if isinstance(spec, OpenAISpec) and config.lm_file is not None and not spec.is_here:
        return replace(spec, takes_key=False)
    return spec
