"""Open language models by what users call them.

| specification | meaning |
|---|---|
| `qwen2.5-coder-0.5b` | a generator of the catalogue, pulled on first use, run in this process |
| `path/to/model.gguf` | local weights, run in this process |
| `hf/<owner>/<repo>/<file>.gguf` | a file of the Hugging Face Hub; `@<revision>` may follow |
| `openai/<model>@<base url>` | any OpenAI-compatible server, such as Ollama or vLLM |
| `provider/model` | any other name of DSPy: a hosted model |
| a `dspy.LM` | in Python: your own; its finished calls are kept like those of any other |

API keys come from the environment only. Unknown names never fall back to a hosted model.

Weights of strangers are tested in a child process before they are loaded in this one: llama.cpp
aborts the process for some file headers, and evaluates the chat template of a file without a time
limit, also when it is loaded. Passed tests are recorded by the hash of the file.
"""

import asyncio
import dataclasses
import logging
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import dspy
from dspy import lm15
from dspy.clients.backend_selection import CLIENT_KEYS
from dspy.utils.exceptions import LMInvalidRequestError

from groundset import privacy
from groundset.bounded import BoundedProcess, LimitError
from groundset.files import data_path, write_text
from groundset.models import llama
from groundset.models.catalogue import (
    CATALOGUE,
    ModelEntry,
    cache_home,
    file_sha256,
    get_entry,
)
from groundset.models.fetch import HUB_FORM, HUB_PREFIX, Notify, parse_name, pull, say_err
from groundset.models.journal import Engine, Journal, Variants
from groundset.models.server import Server
from groundset.options import Name, near_matches
from groundset.programs.errors import (
    GroundsetError,
    InputError,
    UnknownModelError,
)
from groundset.programs.text import digest

_HOSTED = re.compile(r"\w[\w.-]*/\S+")
_SMALL = 1_300_000_000  # bytes: two billion weights with four and a half bits each
_LOG = logging.getLogger("dspy.clients.lm")
# The context takes the most memory, relative to the weights most in the smallest models (98 MB of
# weights: 1.4 GB, measured); half a gigabyte of weights takes three seconds of processor time.
_TIMES_SIZE, _BASE_MB = 12, 4096
_BASE_SECONDS, _MB_PER_SECOND = 60, 20
_MAX_REASON = 500  # characters


class Spec(NamedTuple):
    """What a specification names."""

    name: str  # the model without the address of its server, which does not affect completions
    path: Path | None = None  # the file of local weights; others are pulled by name
    served: str = (
        ""  # the name of the model on a server, or at a provider that DSPy knows; empty for weights
    )
    base_url: str = ""  # the address of the server; empty for a provider


class NamedEngine(Engine):
    """An engine that is saved as the name of its model, which is opened when it is asked.

    What comes from a pickle is opened with the same options. A state in JSON may come from a
    stranger: it can neither send texts to an address nor download what is not in the catalogue.
    """

    callbacks = (Variants(),)

    def __init__(
        self,
        spec: str,
        model: Any = None,
        journal: Journal | None = None,
        adapters: Mapping[str, str] | None = None,  # the SHA-256 of each by name
        options: Mapping[str, Any] | None = None,  # to open it with; without, it cannot be opened
    ) -> None:
        """Wrap a model, None if it is not open."""
        super().__init__(spec, model, journal, adapters)
        self._options, self._opening = options, threading.Lock()

    def complete(self, request: lm15.Request) -> lm15.Response:
        """Answer one request, after opening the model if it is not open."""
        with self._opening:
            if self._model is None and self._options is not None:
                opened = open_model(self._spec, **self._options).lm.engine
                self._model, self._adapters = opened._model, opened._adapters
        return super().complete(request)

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> "NamedEngine":
        """Return the engine of a saved state; see the class."""
        spec = str(state["spec"])
        is_elsewhere = spec.startswith(HUB_PREFIX) or "://" in spec
        return by_name(spec, None if is_elsewhere else {})

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled by name."""
        return by_name, (self._spec, self._options)


_NAMED: "WeakValueDictionary[str, NamedEngine]" = WeakValueDictionary()


def by_name(spec: str, options: Mapping[str, Any] | None) -> NamedEngine:
    """Return the engine of a saved model, one for all predictors that were saved with it."""
    return _NAMED.setdefault(repr((spec, options)), NamedEngine(spec, options=options))


class AsyncEngine:
    """The asynchronous side of an engine; each call runs in a thread."""

    def __init__(self, engine: Engine) -> None:
        """Wrap an engine, which the caller closes."""
        self._engine = engine
        self.dump_state = engine.dump_state

    async def complete(self, request: lm15.Request) -> lm15.Response:
        """Answer one request."""
        return await asyncio.to_thread(self._engine.complete, request)

    @classmethod
    def load_state(cls, state: Mapping[str, Any]) -> Self:
        """Return that of a saved engine."""
        return cls(NamedEngine.load_state(state))


class _Asked:
    """A user's ``dspy.LM`` as the model behind an engine."""

    def __init__(self, lm: Any) -> None:
        self._lm = lm

    def complete(self, request: lm15.Request) -> lm15.Response:
        return self._lm(dataclasses.replace(request, model=self._lm.model))

    def close(self) -> None:
        """Leave it to the user."""


class Model(AbstractContextManager["Model"]):
    """An open language model.

    The model string of ``lm`` contains the hash of the weights, because DSPy's cache key does not
    contain the engine.
    """

    def __init__(
        self,
        engine: Engine,
        lm_name: str,
        # of the catalogue or of the file, or the specification without the server's address
        name: str,
        sha256: str | None,  # the hash of the weights, None for a model on a server
        *,
        # with less than two billion weights: asked for direct questions unless the mix says more
        small: bool = False,
        guided: bool = False,  # too small to write on its own
        **settings: Any,  # of each call that does not set them
    ) -> None:
        """Make the ``dspy.LM`` of an engine; see :func:`open_model`."""
        # The journal is the cache, and the engine repeats what may succeed the second time.
        self.lm: dspy.LM = dspy.LM(
            lm_name,
            engine=engine,
            async_engine=AsyncEngine(engine),
            cache=False,
            num_retries=0,
            callbacks=list(NamedEngine.callbacks),
            **settings,
        )
        self.name, self.sha256, self.small, self.guided = name, sha256, small, guided
        self.usage, self.close = engine.usage, engine.close
        _LOG.setLevel(logging.ERROR)  # DSPy warns about every completion that reaches its limit

    def __exit__(self, *error: object) -> None:
        """Free the model; ``lm`` cannot be used any more."""
        self.close()


def open_model(
    spec: str,  # see :mod:`groundset.models.open`
    *,
    journal: Journal | None = None,  # stores finished calls; in memory by default
    workers: int = 1,  # the maximum number of concurrent calls
    timeout: float = 600.0,  # how many seconds to wait for an answer of a server
    retries: int = 2,  # how often to ask a server again
    adapters: (
        Mapping[str, Path] | None
    ) = None,  # trained weights by the name that the LM option ``adapter`` selects
    shipped: bool = True,  # whether those that are shipped for this model are there, too
    verbose: bool = False,  # print the log of llama.cpp
    # gets a line about downloads, receivers of texts, pauses, and what a server refuses
    notify: Notify = say_err,
) -> Model:
    """Open a language model; missing weights are pulled, and a server must answer.

    Raises:
        UnknownModelError: the specification is wrong, or the weights cannot be loaded.
        UnreachableModelError: the server does not answer, refuses the key or does not have the
            model.
        ModelError: the weights cannot be downloaded or verified.
    """
    if isinstance(spec, Name):
        lm = spec.given
        if not isinstance(lm, dspy.BaseLM):
            raise UnknownModelError(f"{spec}: neither a name nor a dspy.LM")
        if not isinstance(getattr(lm, "engine", None), NamedEngine):
            settings = {name: lm.kwargs[name] for name in lm.kwargs.keys() - CLIENT_KEYS}
            asked = NamedEngine(spec, _Asked(lm), journal)
            return Model(asked, f"served/{spec}", str(spec), None, **settings)
        spec = lm.engine.dump_state()["spec"]  # of `groundset.lm`
    found = parse_spec(spec)
    again = {"workers": workers, "timeout": timeout, "retries": retries, "shipped": shipped}
    if found.served:
        server = Server(
            found.served, found.base_url, timeout=timeout, retries=retries, notify=notify
        )
        server.check()
        engine = NamedEngine(spec, server, journal, options=again)
        return Model(engine, f"served/{found.name}", found.name, None)
    path = found.path or pull(found.name, notify=notify)
    sha256 = file_sha256(path)
    entry = next((entry for entry in CATALOGUE.values() if entry.sha256 == sha256), None)
    name = entry.name if entry else found.name
    ours = sorted(data_path("compiled", name).glob("*.gguf")) if shipped else []
    files = {**{file.stem: file for file in ours}, **(adapters or {})}
    for adapter in (None, *files.values()):
        check_weights(path, adapter, notify)
    hashes = {step: file_sha256(file) for step, file in files.items()}
    model = llama.LlamaModel(path, workers=workers, adapters=files, verbose=verbose)
    size = _small_or_guided(path.stat().st_size, entry)
    engine = NamedEngine(spec, model, journal, hashes, {**again, "adapters": adapters})
    return Model(engine, f"local/{sha256[:16]}", name, sha256, **size)


def _small_or_guided(size: int, entry: ModelEntry | None) -> dict[str, bool]:
    return {"small": size < _SMALL, "guided": entry.guided if entry else size < _SMALL}


def size_of(spec: str) -> dict[str, bool]:
    """Return whether a model is ``small`` and ``guided``, see :class:`Model`, by its specification
    and file alone.
    """
    found = parse_spec(spec)
    entry = CATALOGUE.get(found.name)
    return _small_or_guided(
        entry.size if entry else found.path.stat().st_size if found.path else _SMALL, entry
    )


def parse_spec(text: str) -> Spec:
    """Parse a specification, without downloads or requests.

    Raises:
        UnknownModelError: it is none; the message suggests similar names.
    """
    text = text.strip()
    shown = privacy.without_secrets(text)
    if text in CATALOGUE:
        return Spec(get_entry(text, "generator").name)
    if text.startswith(HUB_PREFIX):
        parse_name(text)
        return Spec(text)
    if text.startswith("openai/") and "@" in text:
        model, _, url = text.removeprefix("openai/").rpartition("@")
        return Spec(f"openai/{model}@server", None, model, _base_url(url))
    if text.lower().endswith(".gguf"):
        path = Path(text).expanduser().absolute()
        if not path.is_file():
            raise UnknownModelError(f"{path}: there is no such file")
        return Spec(path.name, path)
    if _HOSTED.fullmatch(text):
        return Spec(text, served=text)
    raise UnknownModelError(
        f"unknown model {shown!r}{near_matches(text, CATALOGUE)}; use a name from"
        " `groundset models list`, "
        f"a path to a .gguf file, {HUB_FORM}, openai/<model>@<base url> or provider/model"
    )


def _base_url(url: str) -> str:
    with suppress(ValueError):  # invalid brackets or port
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        if is_web and not re.search(r"[\s\\?#]", url):
            return url.rstrip("/")
    raise UnknownModelError(
        f"{privacy.without_secrets(url)!r}: not a base URL such as http://host:port/v1; without"
        " credentials or a query, GROUNDSET_API_KEY holds the key"
    )


def check_weights(model: Path, adapter: Path | None, notify: Callable[[str], object]) -> None:
    """Load and run a model, with an adapter if one is given, unless it is known or has passed
    before.

    Raises:
        UnknownModelError: the file cannot be loaded; the message names it.
    """
    file = adapter or model
    if adapter:
        is_known = adapter.resolve().is_relative_to(data_path("compiled").resolve())
    else:
        is_known = file_sha256(model) in {entry.sha256 for entry in CATALOGUE.values()}
    if is_known:
        return
    key = digest([file_sha256(model), file_sha256(file), metadata.version("xllamacpp")])
    passed = cache_home() / "trials" / key
    if passed.is_file():
        return
    notify(f"testing {file.name} in a separate process: it is not in the catalogue")
    size_mb = model.stat().st_size >> 20
    memory_mb = _BASE_MB + _TIMES_SIZE * size_mb
    child = BoundedProcess(f"{__name__}:{load_once.__name__}", memory_mb=memory_mb, output_mb=1)
    try:
        reason = child([str(model), str(adapter or "")], _BASE_SECONDS + size_mb / _MB_PER_SECOND)
    except LimitError as error:
        reason = f"loading it {error}"
    finally:
        child.end()
    if reason:
        raise UnknownModelError(
            f"{file}: llama.cpp cannot use this file: {' '.join(reason.split())[:_MAX_REASON]}"
        )
    with suppress(InputError):  # without a writable cache it is tested again next time
        write_text(passed, "")


def load_once(files: list[str]) -> str:
    """Load and run a model with an adapter, if there is one; return the reason of a failure, empty
    without one.
    """
    path, adapter = files
    adapters = {"tested": Path(adapter)} if adapter else {}
    turns = (
        lm15.Message.user("Where does Ebbing lie?"),
        lm15.Message.assistant("On a river."),
        lm15.Message.user("Which one?"),
    )
    request = lm15.Request(
        model="trial",
        system="Answer in one short sentence.",
        messages=turns,
        config=lm15.Config(
            max_tokens=1, temperature=0.0, extensions={"adapter": next(iter(adapters), None)}
        ),
    )
    try:
        llama.LlamaModel(Path(path), adapters=adapters).complete(request)
    except LMInvalidRequestError:  # one token may be a thought
        pass
    except (GroundsetError, lm15.LM15Error) as error:
        return str(error).split("cannot load this model: ")[-1] or type(error).__name__
    return ""
