"""The embedder, and models of strangers."""

import io
import json
import os
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from refusal import refuses

from groundset.models.fetch import pull
from groundset.programs.errors import UnknownModelError, UnreachableModelError
from groundset.retrieval.embed import Embedder, open_embedder, open_reranker, open_tokenizer

TEXTS = [
    "The ferry leaves Tollvik at nine.",
    "When does the boat depart?",
    "Clocks are small.",
    "",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def minilm():
    return open_embedder("all-minilm-l6-v2")


class Model:
    """Counts and keeps what it is asked to embed."""

    max_seq_length = 4

    def __init__(self):
        self.batches = []

    def encode(self, texts, **options):
        self.batches.append(texts)
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float64)


@pytest.mark.model
def test_rows_are_unit_vectors_in_order(minilm):
    vectors = minilm.encode(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    similar = vectors @ vectors[0]
    assert similar[1] > similar[2]
    np.testing.assert_allclose(
        vectors[2], open_embedder("all-minilm-l6-v2").encode([TEXTS[2]])[0], atol=1e-5
    )
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(vectors, other) for other in pool.map(minilm.encode, [TEXTS] * 4))


def test_each_text_is_embedded_once_in_batches_of_similar_length():
    model, done = Model(), []
    embedder = Embedder("fake", "0" * 64, model)
    assert embedder.dimension == 2
    assert embedder.encode([]).shape == (0, 2)
    model.batches.clear()
    texts = [str(number) * (1 + number % 3) for number in range(20)] * 2
    rows = embedder.encode(texts, on_done=done.append)
    assert rows[:, 0].tolist() == [len(text) for text in texts]
    assert done == [16, 4]
    lengths = [len(text) for batch in model.batches for text in batch]
    assert lengths == sorted(lengths, reverse=True)
    assert embedder.encode([*texts, "new"])[-1, 0] == 3
    assert model.batches[2:] == [["new"]]


def test_texts_are_truncated_before_they_become_tokens():
    model = Model()
    Embedder("fake", "0" * 64, model).encode(["a" * 800, "b" * 801])
    assert [len(text) for text in model.batches[-1]] == [800, 800]


@pytest.mark.model
def test_catalogue_embedder_is_quiet_and_needs_no_network(monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        loaded = open_embedder("all-minilm-l6-v2")
        loaded.encode(TEXTS)
    assert out.getvalue() + err.getvalue() + "".join(capfd.readouterr()) == ""
    assert loaded.name == "all-minilm-l6-v2"
    assert loaded.sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


@pytest.mark.model
def test_embedder_in_a_folder_and_in_another_process(minilm):
    folder = open_embedder(str(pull("all-minilm-l6-v2")))
    assert np.array_equal(
        folder.encode(TEXTS[:2]), open_embedder("all-minilm-l6-v2").encode(TEXTS[:2])
    )
    assert folder.sha256 == minilm.sha256
    assert pickle.loads(pickle.dumps(folder)).sha256 == minilm.sha256  # noqa: S301 - as process pools do


def tokenizer_of(*words):
    from tokenizers import Tokenizer, models, pre_tokenizers

    places = {word: place for place, word in enumerate(words)}
    made = Tokenizer(models.WordLevel(places, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return made


def test_static_embeddings(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    rows = np.array([[1, 0], [0, 2], [-3, 0]], dtype=np.float32)
    static = StaticEmbedding(tokenizer_of("[UNK]", "ferry", "clock"), embedding_weights=rows)
    SentenceTransformer(modules=[static]).save(str(tmp_path))
    loaded = open_embedder(str(tmp_path))
    assert loaded.encode(["ferry", "clock " * 10_000]).tolist() == [[0, 1], [-1, 0]]
    assert open_tokenizer(str(tmp_path)).encode("ferry clock").ids == [1, 2]
    assert len(loaded.sha256) == 64


def test_a_reranker_scores_pairs(tmp_path):
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    tokenizer = tokenizer_of("[PAD]", "[UNK]", "ferry", "clock")
    size = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    for labels in (1, 2):
        config = BertConfig(
            vocab_size=4, intermediate_size=8, num_labels=labels, initializer_range=1.0, **size
        )
        BertForSequenceClassification(config).save_pretrained(tmp_path / str(labels))
        PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]"
        ).save_pretrained(tmp_path / str(labels))
    reranker = open_reranker(str(tmp_path / "1"))
    both = reranker.scores("ferry", ["clock", "ferry"])
    assert both[0] != both[1]
    assert reranker.scores("ferry", ["ferry"])[0] == pytest.approx(both[1], abs=1e-6)
    assert len(reranker.sha256) == 64
    with refuses("2: gives 2 scores; name another", UnknownModelError):
        open_reranker(str(tmp_path / "2"))
    with refuses("--reranker ./nowhere: not a folder with a sentence", UnknownModelError):
        open_reranker("./nowhere")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("smollm2-135m", "is of role generator, not embedder"),
        ("./nowhere", "nor a folder"),
        ("all-minilm-l6", r"neither an embedder .* \(?did you mean all-minilm-l6-v2"),
    ],
)
def test_unknown_embedder(spec, message):
    with refuses(message, UnknownModelError):
        open_embedder(spec)


def test_hub_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setenv("GROUNDSET_HOME", str(tmp_path))
    with refuses("someone/some-embedder cannot be downloaded", UnreachableModelError):
        open_embedder("hf/someone/some-embedder", notify=lambda line: None)


CODE = "from pathlib import Path\nPath({ran!r}).touch()\nclass Module:\n    pass\n"


@pytest.mark.parametrize("module", ["modeling_evil.Module", "evil_package.Module"])
def test_custom_code_in_modules_is_not_run(tmp_path, monkeypatch, module):
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    for place in (tmp_path / "model", tmp_path / "elsewhere"):
        place.mkdir()
        (place / f"{module.partition('.')[0]}.py").write_text(
            CODE.format(ran=str(tmp_path / "ran"))
        )
    folder = tmp_path / "model"
    (folder / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "", "type": module}])
    )
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with refuses(f"cannot be loaded.*{module}.* executes third-party code", UnknownModelError):
        open_embedder(str(folder))
    assert not (tmp_path / "ran").exists()


def test_custom_code_in_the_configuration_is_not_run(tmp_path):
    (tmp_path / "evil.py").write_text(CODE.format(ran=str(tmp_path / "ran")))
    names = {"AutoConfig": "evil.Module", "AutoModel": "evil.Module"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": names}))
    with refuses("cannot be loaded", UnknownModelError):
        open_embedder(str(tmp_path))
    assert not (tmp_path / "ran").exists()


def bert(folder):
    """Write a small model without weights."""
    sizes = {
        "hidden_size": 8,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "intermediate_size": 8,
    }
    config = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 5, **sizes}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("model.safetensors", b""),
        ("model.safetensors", b"\x40" + bytes(7) + b"{" * 64),
        ("config.json", b"1"),
        ("modules.json", b"[" * 100_000),
    ],
)
def test_damaged_files_are_refused(tmp_path, name, content):
    bert(tmp_path)
    (tmp_path / name).write_bytes(content)
    with refuses("cannot be loaded", UnknownModelError) as caught:
        open_embedder(str(tmp_path))
    assert caught.value.exit_code == 2


def test_pickle_is_not_loaded_and_the_error_does_not_explain_how_to(tmp_path, capfd):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    bert(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    with refuses(r"pytorch_model\.bin: damaged weights, or a pickle", UnknownModelError) as caught:
        open_embedder(str(tmp_path))
    assert "weights_only" not in str(caught.value) + "".join(capfd.readouterr())
    assert not (tmp_path / "ran").exists()
