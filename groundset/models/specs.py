"""Specifications of language models.

| specification | meaning |
|---|---|
| `qwen2.5-coder-0.5b` | a generator of the catalogue, pulled on first use, run in this process |
| `path/to/model.gguf` | local weights, run in this process |
| `hf/<owner>/<repo>/<file>.gguf` | a file of the Hugging Face Hub, downloaded once; `@<revision>` may follow |
| `openai/<model>@<base url>` | any OpenAI-compatible server: Ollama, vLLM, llama-server, LM Studio |
| `openai/<model>@<file>.txt` | several such servers of one model: a file of base URLs, one per line |
| `provider/model` | any other DSPy/LiteLLM string: a hosted model |

Several specifications of one model on servers are one model too. API keys come from the environment only. Unknown
names never fall back to a hosted model.
"""

import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from groundset.models.cache import entry_path, file_sha256
from groundset.models.catalogue import CATALOGUE, near_matches
from groundset.models.hub import FORM, HubSpec, parse_hub_name
from programs.errors import InputError, UnknownModelError
from programs.untrusted import opened, small_text

_GGUF_MAGIC = b"GGUF"
_SERVER = re.compile(r"openai/(?P<model>.+)@(?P<url>\w+://.*)")
SERVERS_FILE = re.compile(r"openai/(?P<model>[^@]+)@(?P<file>(?!\w+://).+\.txt)", re.IGNORECASE)
_MAX_SERVERS_FILE = 1 << 20  # bytes
_MAX_FILE_NAME = 256  # Path.exists fails for longer names on some systems
_HOSTED = re.compile(r"[A-Za-z0-9_.-]+/\S+")


@dataclass(frozen=True, slots=True)
class LocalSpec:
    """GGUF weights for the embedded runtime; those of the catalogue may not be pulled yet."""

    path: Path
    sha256: str
    name: str


@dataclass(frozen=True, slots=True)
class OpenAISpec:
    """A model behind an OpenAI-compatible server.

    Attributes:
        model: its name on the server.
        base_url: the address of the API.
        takes_key: whether the key in the environment may be sent to that address.
        option: the command line option for this model, for messages.
    """

    model: str
    base_url: str
    takes_key: bool = True
    option: str = "--lm"

    @property
    def name(self) -> str:
        """Return the name of this model without its address, which does not affect completions."""
        return f"openai/{self.model}@server"

    @property
    def host(self) -> str:
        """Return the host of the server, with the port if there is one."""
        return urlsplit(self.base_url).netloc

    @property
    def is_local(self) -> bool:
        """Return whether the server is on this machine, at a loopback address."""
        return is_loopback(urlsplit(self.base_url).hostname or "")

    def from_file(self, option: str) -> "OpenAISpec":
        """Return the specification of an address in a file, to which no key is sent unless it is on this machine."""
        return self if self.is_local else replace(self, takes_key=False, option=option)


@dataclass(frozen=True, slots=True)
class ServersSpec:
    """One model on several OpenAI-compatible servers.

    Attributes:
        model: its name on all servers.
        servers: the servers that are named one by one.
        files: files of more base URLs, one per line.
        option: the command line option for this model, for messages.
    """

    model: str
    servers: tuple[OpenAISpec, ...]
    files: tuple[Path, ...] = ()
    option: str = "--lm"

    @property
    def name(self) -> str:
        """Return the name of this model without addresses; it is that of the model on one server."""
        return OpenAISpec(self.model, "").name

    def listed(self) -> tuple[OpenAISpec, ...]:
        """Return the servers, those of the files as they are now; of equal addresses the first.

        Raises:
            UnknownModelError: a file cannot be read, or has a line that is not a base URL; or there is no server.
        """
        found = list(self.servers)
        for file in self.files:
            found += [OpenAISpec(self.model, address).from_file(self.option) for address in _addresses(file)]
        if not found:
            raise UnknownModelError(f"{self.files[0]} has no base URL")
        servers: dict[str, OpenAISpec] = {}
        for spec in found:
            servers.setdefault(spec.base_url, spec)
        return tuple(servers.values())


@dataclass(frozen=True, slots=True)
class HostedSpec:
    """A model that DSPy reaches through LiteLLM; `model` is the `provider/model` string."""

    model: str

    @property
    def name(self) -> str:
        """Return the specification of this model."""
        return self.model


OpenableSpec = LocalSpec | OpenAISpec | ServersSpec | HostedSpec
ModelSpec = OpenableSpec | HubSpec


def parse_spec(text: str | Sequence[str]) -> ModelSpec:
    """Parse a specification, or several of one model on servers, without downloads or requests.

    Raises:
        UnknownModelError: The text is not a specification; the message suggests similar names.
    """
    if not isinstance(text, str):
        return _parse_servers(text)
    text = text.strip()
    entry = CATALOGUE.get(text)
    if entry is not None:
        if entry.role != "generator":
            raise UnknownModelError(f"{text} is an {entry.role}: it cannot write text (`groundset models list`)")
        return LocalSpec(entry_path(entry), entry.sha256, entry.name)
    if named := parse_hub_name(text):
        return named
    if server := _SERVER.fullmatch(text):
        return OpenAISpec(server["model"], _base_url(server["url"]))
    if listed := SERVERS_FILE.fullmatch(text):
        return ServersSpec(listed["model"], (), (Path(listed["file"]).expanduser().absolute(),))
    if text.startswith("openai/") and "@" in text:
        raise UnknownModelError(
            f"{text!r}: base URL must start with http:// or https://, or name a .txt file of base URLs"
        )
    if text.lower().endswith(".gguf"):
        return _gguf(Path(text).expanduser())
    if text.startswith((".", "/", "~")) or (0 < len(text) < _MAX_FILE_NAME and Path(text).exists()):
        raise UnknownModelError(f"{text!r}: not a path to a .gguf file")
    if _HOSTED.fullmatch(text):
        return HostedSpec(text)
    raise UnknownModelError(
        f"unknown model {text!r}{near_matches(text)}; use a name from `groundset models list`, "
        f"a path to a .gguf file, {FORM}, openai/<model>@<base url> or provider/model"
    )


def _parse_servers(texts: Sequence[str]) -> ModelSpec:
    """Parse several specifications of one model on servers; a single one may be any model."""
    specs = [parse_spec(text) for text in texts]
    if len(specs) == 1:
        return specs[0]
    servers: list[OpenAISpec] = []
    files: list[Path] = []
    for text, spec in zip(texts, specs, strict=True):
        if not isinstance(spec, OpenAISpec | ServersSpec):
            raise UnknownModelError(f"{text!r} beside other models: only openai/<model>@<base url> can be repeated")
        if spec.name != specs[0].name:
            raise UnknownModelError(f"{texts[0]!r} and {text!r}: all servers must serve the same model")
        model = spec.model
        servers += [spec] if isinstance(spec, OpenAISpec) else []
        files += [] if isinstance(spec, OpenAISpec) else spec.files
    return ServersSpec(model, tuple(servers), tuple(files))


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, judging by its name or address without a lookup."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


def receiver(spec: ModelSpec) -> str | None:
    """Return the host that receives the texts of requests, None if they stay on this machine."""
    if isinstance(spec, LocalSpec | HubSpec) or (isinstance(spec, OpenAISpec) and spec.is_local):
        return None
    if isinstance(spec, OpenAISpec):
        return spec.host
    provider = spec.model.partition("/")[0]
    for variable in (f"{provider.upper()}_API_BASE", f"{provider.upper()}_BASE_URL"):
        if address := os.environ.get(variable):
            return f"{address.rpartition('@')[2]} ({variable}), for {spec.model}"
    return f"{provider}, which hosts {spec.model}"


def _addresses(file: Path) -> list[str]:
    """Return the base URLs in a file; empty lines and those that start with # are skipped."""
    try:
        lines = small_text(file, _MAX_SERVERS_FILE).splitlines()
    except OSError as error:
        raise UnknownModelError(f"{file} cannot be read: {error.strerror or error}") from error
    except InputError as error:
        raise UnknownModelError(str(error)) from error
    found = []
    for number, line in enumerate(map(str.strip, lines), 1):
        if line and not line.startswith("#"):
            try:
                found.append(_base_url(line))
            except UnknownModelError as error:
                raise UnknownModelError(f"{file}: line {number}: {error}") from None
    return found


def _base_url(url: str) -> str:
    shown = re.sub(r"(?<=://)[^/]*@", "", url)
    wrong = UnknownModelError(f"{shown!r}: not a base URL such as http://host:port/v1")
    try:
        parts = urlsplit(url)
        wrong_port = parts.port == 0
    except ValueError:  # invalid brackets or port
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or wrong_port or re.search(r"[\s\\]", url):
        raise wrong
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UnknownModelError(
            f"the base URL of {parts.hostname} must not contain credentials or a query; set GROUNDSET_API_KEY instead"
        )
    return url.rstrip("/")


def _gguf(path: Path) -> LocalSpec:
    try:
        with opened(path) as stream:
            magic = stream.read(len(_GGUF_MAGIC))
        if magic != _GGUF_MAGIC:
            raise UnknownModelError(f"{path} is not a GGUF file")
        return LocalSpec(path.absolute(), file_sha256(path), path.name)
    except OSError as error:
        raise UnknownModelError(f"{path} cannot be read: {error.strerror or error}") from error
