"""The models of a run: checked before anything is written, and loaded when needed."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from groundset.engine.config import RunConfig
from groundset.engine.identity import Identity, ModelName, with_models
from groundset.engine.stop import StoppableJournal
from groundset.models.pull import ensure_available
from groundset.models.specs import LocalSpec, ModelSpec, OpenAISpec, parse_spec
from programs.languages import LANGUAGES
from programs.languages.table import Languages

Open = Callable[..., Any]


def languages_with(parser: Any) -> Languages:
    """Return the languages with a parser; without one, only the form of an answer makes a question easy."""
    return Languages(LANGUAGES, parser if parser.sha256 else None)


class Openers(NamedTuple):
    """The functions that open the models of a run; replaced in tests."""

    language_model: Open | None = None
    embedder: Open | None = None
    critics: Open | None = None


class Journals(NamedTuple):
    """The journals of finished calls: of the model that writes, and of a second one that judges."""

    generator: StoppableJournal
    critic: StoppableJournal


class _LazyModel:
    """A language model that is loaded when it is asked for; one on a server is opened, and thereby checked, at once."""

    def __init__(self, text: str, spec: ModelSpec | None, open_model: Open) -> None:
        """Verify the model of a specification; without one, ``open_model`` knows what the text means."""
        if spec is not None:
            spec = ensure_available(spec)  # before documents are read, which can take minutes
        self.text, self.spec = text, spec
        self._open = open_model
        self._opened: Any = None

    @property
    def name(self) -> ModelName:
        """Return its name and hash, without loading its weights."""
        if isinstance(self.spec, LocalSpec):
            return ModelName(self.spec.name, self.spec.sha256)
        return ModelName(self.opened.name, self.opened.sha256)

    @property
    def opened(self) -> Any:
        """Return the model, loaded at the first call."""
        if self._opened is None:
            self._opened = self._open(self)
        return self._opened


class RunModels:
    """The models of one run.

    A model on a server is opened, and thereby checked, at once. Weights are only verified: they are loaded when the
    language model is asked for, so that what comes before has all cores and the memory for itself.

    Attributes:
        embedder, parser: loaded.
        name: what names the language model.
        critic_name: what names a second one that judges, None if there is none.
        adapters: files of trained weights by hash; see :meth:`take`.
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
        """Open or verify the models that a configuration names; ``stack`` closes them.

        ``note`` is called with a line on each, and on who is sent texts.

        Raises:
            ModelError: one cannot be found, fetched, verified or reached.
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
                    )
                )

            return open_model

        def named(text: str, file: Path | None, journal: StoppableJournal, *, judges: bool) -> _LazyModel:
            option = "--critic-lm" if judges else "--lm"
            spec = _spec_of(text, file, option) if openers.language_model is None else None
            return _LazyModel(text, spec, open_with(journal, judges))

        self._note = note
        self._model = named(config.lm, config.lm_file, journals.generator, judges=False)
        self._judging = self._model
        if config.critic_lm is not None:
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
            WeightsError: one of them cannot be loaded.
        """
        from groundset.runtime.weight_check import check_weights

        if isinstance(self._model.spec, LocalSpec):
            check_weights(self._model.spec, adapters, self._note)
        self.adapters: Mapping[str, Path] = adapters

    @property
    def language_model(self) -> Any:
        """Return the language model, loaded at the first call."""
        return self._model.opened

    @property
    def critic_model(self) -> Any:
        """Return the language model that judges, loaded at the first call: a second one, or the same."""
        return self._judging.opened

    def usage(self) -> dict[str, float]:
        """Return calls, tokens and seconds of this process, of all language models together."""
        models = [self._model, *([self._judging] if self.critic_name else [])]
        used = [model.opened.usage() for model in models]
        return {name: sum(each[name] for each in used) for name in used[0]}

    @cached_property
    def languages(self) -> Languages:
        """Return the table of languages, with the syntax of those that the parser reads."""
        return languages_with(self.parser)

    def named(self, identity: Identity) -> Identity:
        """Return an identity together with the models."""
        others = {"embedder": self.embedder, "parser": self.parser}
        return with_models(
            identity,
            lm=self.name,
            critic_lm=self.critic_name,
            **{key: ModelName(model.name, model.sha256) for key, model in others.items()},
        )


def _spec_of(text: str, file: Path | None, option: str) -> ModelSpec:
    """Return the model of an option; a key goes to another machine only if a person gave the address."""
    spec = parse_spec(text)
    if isinstance(spec, OpenAISpec) and file is not None and not spec.is_local:
        return replace(spec, takes_key=False, option=option)
    return spec
