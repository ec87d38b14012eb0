"""The models of a run: checked before anything is written, and loaded when needed."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from groundset.engine.budget import StoppableJournal
from groundset.engine.config import RunConfig
from groundset.engine.identity import Identity, ModelName, with_models
from groundset.models.pull import ensure_available
from groundset.models.specs import HostedSpec, LocalSpec, ModelSpec, OpenAISpec, ServersSpec, parse_spec
from programs.languages import LANGUAGES
from programs.languages.table import Languages

Open = Callable[..., Any]


def languages_with(parser: Any) -> Languages:
    """Return the languages with a parser; without a parser, ``easy`` depends only on the answer's type."""
    return Languages(LANGUAGES, parser if parser.sha256 else None)


class Openers(NamedTuple):
    """The functions that open models; None for the real ones."""

    language_model: Open | None = None
    embedder: Open | None = None
    critics: Open | None = None


class Journals(NamedTuple):
    """The journals of the generating and of the judging language model."""

    generator: StoppableJournal
    critic: StoppableJournal


class _LazyModel:
    """A language model that is opened on first access."""

    def __init__(self, text: str | tuple[str, ...], spec: ModelSpec | None, open_model: Open) -> None:
        """Fetch the weights if necessary; ``spec`` is None for scripted models."""
        if spec is not None:
            spec = ensure_available(spec)  # before documents are read, which can take minutes
        self.text, self.spec = text, spec
        self._open = open_model

    @property
    def name(self) -> ModelName:
        """Return the name and hash; only a model without local weights is opened for it."""
        if isinstance(self.spec, LocalSpec):
            return ModelName(self.spec.name, self.spec.sha256)
        return ModelName(self.opened.name, self.opened.sha256)

    @cached_property
    def opened(self) -> Any:
        """Return the opened model."""
        return self._open(self)


class RunModels:
    """The models of one run.

    A model on a server is opened, and thereby checked, at once. Local weights are only verified: they are loaded on
    first access, so that preparation has all cores and the memory.

    Attributes:
        embedder, parser: the loaded models.
        name: the name and hash of the language model.
        critic_name: the same of a separate judging model, or None.
        adapters: adapter files by hash; see :meth:`take`.
    """

    def __init__(
        self,
        config: RunConfig,
        openers: Openers,
        stack: ExitStack,
        journals: Journals,
        *,
        note: Callable[[str], object],
        verbose: bool,
    ) -> None:
        """Open or verify the models of a configuration; ``stack`` closes them.

        ``note`` receives a line for each model, and for each server that texts are sent to.

        Raises:
            ModelError: a model cannot be found, fetched, verified or reached.
        """
        from groundset.retrieval.embedder import load_embedder
        from groundset.runtime.lms import open_lm
        from groundset.runtime.parser import NONE, load_parser

        def open_with(journal: StoppableJournal, judges: bool) -> Open:
            def open_model(model: _LazyModel) -> Any:
                if isinstance(model.spec, LocalSpec):
                    note(f"Loading the language model {model.text}{', which judges' if judges else ''}.")
                return stack.enter_context(
                    (openers.language_model or open_lm)(
                        model.spec or model.text,
                        journal=journal,
                        workers=config.workers,
                        adapters={} if judges else self.adapters,
                        verbose=verbose,
                        notify=note,
                        timeout=config.timeout,
                        retries=config.retries,
                    )
                )

            return open_model

        def named(texts: tuple[str, ...], file: Path | None, journal: StoppableJournal, *, judges: bool) -> _LazyModel:
            option = "--critic-lm" if judges else "--lm"
            spec = _spec_of(texts, file, option) if openers.language_model is None else None
            return _LazyModel(texts[0] if len(texts) == 1 else texts, spec, open_with(journal, judges))

        self._note = note
        self._model = named(config.lm, config.lm_file, journals.generator, judges=False)
        self._judging = self._model
        if config.critic_lm:
            self._judging = named(config.critic_lm, config.critic_lm_file, journals.critic, judges=True)
        self.take({})
        note(f"Loading the embedding model {config.embedder}.")
        self.embedder: Any = (openers.embedder or load_embedder)(config.embedder)
        if config.parser != NONE:
            note(f"Loading the parser {config.parser}.")
        self.parser = load_parser(config.parser)
        self.name = self._model.name
        self.critic_name = None if self._judging is self._model else self._judging.name

    def take(self, adapters: Mapping[str, Path]) -> None:
        """Set the adapters that the language model is loaded with.

        Raises:
            WeightsError: an adapter cannot be loaded.
        """
        from groundset.runtime.weight_check import check_weights

        if isinstance(self._model.spec, LocalSpec):
            check_weights(self._model.spec, adapters, self._note)
        self.adapters: Mapping[str, Path] = adapters

    @property
    def is_remote(self) -> bool:
        """Return whether the language model is on a server."""
        return isinstance(self._model.spec, OpenAISpec | HostedSpec | ServersSpec)

    @property
    def is_local(self) -> bool:
        """Return whether a language model runs in this process."""
        return any(isinstance(model.spec, LocalSpec) for model in (self._model, self._judging))

    @property
    def language_model(self) -> Any:
        """Return the language model, opened on first access."""
        return self._model.opened

    @property
    def critic_model(self) -> Any:
        """Return the judging language model, opened on first access; by default the same model."""
        return self._judging.opened

    def usage(self) -> dict[str, float]:
        """Return the calls, tokens and seconds of all language models in this process."""
        models = [self._model, *([self._judging] if self.critic_name else [])]
        used = [model.opened.usage() for model in models]
        return {name: sum(each[name] for each in used) for name in used[0]}

    @cached_property
    def languages(self) -> Languages:
        """Return the languages with the parser of this run."""
        return languages_with(self.parser)

    def named(self, identity: Identity) -> Identity:
        """Add the models to an identity."""
        others = {"embedder": self.embedder, "parser": self.parser}
        return with_models(
            identity,
            lm=self.name,
            critic_lm=self.critic_name,
            **{key: ModelName(model.name, model.sha256) for key, model in others.items()},
        )


def _spec_of(texts: tuple[str, ...], file: Path | None, option: str) -> ModelSpec:
    """Parse a model; API keys are not sent to a remote address that comes from a file."""
    spec = parse_spec(texts)
    if isinstance(spec, OpenAISpec) and file is not None:
        return spec.from_file(option)
    if isinstance(spec, ServersSpec):
        servers = spec.servers if file is None else tuple(server.from_file(option) for server in spec.servers)
        return replace(spec, servers=servers, option=option)
    return spec
