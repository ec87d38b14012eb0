import io
import json
import os
import pickle
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from huggingface_hub import constants

from groundset.retrieval import loading as module
from groundset.retrieval.embedder import Embedder, load_embedder
from programs.errors import DamagedModelError, ModelError, UnknownModelError

TEXTS = [
    "The ferry leaves Tollvik at nine.",
    "When does the boat depart?",
    "Clocks are small.",
    "",
    "x" * 5000,
]


@pytest.fixture(scope="module")
def minilm():
    return load_embedder("all-minilm-l6-v2")


@pytest.mark.model
def test_rows_are_unit_vectors_in_order(minilm):
    vectors = minilm.encode(TEXTS)
    assert vectors.shape == (5, 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    similar = vectors @ vectors[0]
    assert similar[1] > similar[2]
    assert minilm.encode([]).shape == (0, 384)


@pytest.mark.model
def test_equal_calls_give_equal_bits(minilm):
    first = minilm.encode(TEXTS)
    assert np.array_equal(first, minilm.encode(TEXTS))
    np.testing.assert_allclose(first[2], minilm.encode([TEXTS[2]])[0], atol=1e-5)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(first, other) for other in pool.map(minilm.encode, [TEXTS] * 4))


@pytest.mark.model
def test_encode_corpus_gives_equal_bits_for_any_number_of_workers(minilm):
    texts = [f"Sentence {number} of this text. " * (number % 7) for number in range(70)]
    done: list[int] = []
    one = minilm.encode_corpus(texts, workers=1, on_done=done.append)
    assert done == [16, 16, 16, 16, 6]
    for workers in (2, 3, None):
        assert np.array_equal(one, minilm.encode_corpus(texts, workers=workers))
    np.testing.assert_allclose(one, minilm.encode(texts), atol=1e-6)
    assert minilm.encode_corpus([]).shape == (0, 384)


@pytest.mark.model
def test_encode_corpus_raises_errors_of_the_callback(minilm):
    def fail(done):
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        minilm.encode_corpus(["a", "b"], on_done=fail)
    assert minilm.encode_corpus(["a"]).shape == (1, 384)


@pytest.mark.model
def test_catalogue_embedder_is_quiet_and_needs_no_network(monkeypatch, capfd):
    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        loaded = load_embedder("all-minilm-l6-v2")
        loaded.encode(TEXTS)
    assert out.getvalue() + err.getvalue() + "".join(capfd.readouterr()) == ""
    assert loaded.name == "all-minilm-l6-v2"
    assert loaded.sha256 == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"


def test_static_embeddings(tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "ferry": 1, "clock": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    rows = np.array([[1, 0], [0, 2], [-3, 0]], dtype=np.float32)
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=rows)]).save(str(tmp_path))
    loaded = load_embedder(str(tmp_path))
    assert loaded.encode_corpus(["ferry", "clock " * 10_000]).tolist() == [[0, 1], [-1, 0]]
    assert loaded.tokenizer.encode("ferry clock").ids == [1, 2]


@pytest.mark.model
def test_embedder_in_a_folder(minilm):
    from groundset.models import pull

    folder = load_embedder(str(pull("all-minilm-l6-v2")))
    assert np.array_equal(folder.encode(TEXTS[:2]), minilm.encode(TEXTS[:2]))
    assert len(folder.sha256) == 64
    assert folder.sha256 == load_embedder(folder.name).sha256


def test_encode_without_texts_does_not_call_the_model():
    class Model:
        tokenizer = None
        max_seq_length = None
        calls = 0

        def encode(self, texts, **options):
            self.calls += 1
            return np.ones((len(texts), 3), dtype=np.float64)

    model = Model()
    wrapped = Embedder("fake", "0" * 64, model)
    assert wrapped.encode([]).shape == (0, 3)
    assert model.calls == 1
    assert wrapped.encode(["a", "b"]).dtype == np.float32


def test_texts_are_truncated_before_tokenising():
    class Model:
        tokenizer = None
        max_seq_length = 4
        seen = ()

        def encode(self, texts, **options):
            self.seen = texts
            return np.ones((len(texts), 3), dtype=np.float64)

    model = Model()
    Embedder("fake", "0" * 64, model).encode(["a" * 800, "b" * 801])
    assert model.seen == ["a" * 800, "b" * 800]


@pytest.mark.parametrize(
    ("spec", "message"), [("smollm2-135m", "is a generator, not an embedder"), ("./nowhere", "not a folder")]
)
def test_invalid_embedder(spec, message):
    with pytest.raises(UnknownModelError, match=message):
        load_embedder(spec)


def test_unknown_name_suggests_similar_names(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "hub_answers", lambda: False)
    with pytest.raises(ModelError, match=r"'all-minilm-l6' is neither .* .did you mean all-minilm-l6-v2\?"):
        load_embedder("all-minilm-l6")


@pytest.mark.parametrize(("offline", "reason"), [(True, ".*GROUNDSET_HUB=1"), (False, "the Hub cannot be reached")])
def test_error_of_a_missing_hub_model(monkeypatch, offline, reason):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    monkeypatch.setattr(module.privacy, "took_the_hub_offline", lambda: True)
    monkeypatch.setattr(module, "hub_answers", lambda: False)
    with pytest.raises(ModelError, match=rf"is neither a folder nor in the Hugging Face cache, and {reason}"):
        load_embedder("someone/some-embedder")


def test_folder_without_a_model(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "nothing-known"}), encoding="utf-8")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_embedder(str(tmp_path))


CODE = "from pathlib import Path\nPath({ran!r}).touch()\nclass Module:\n    pass\n"


@pytest.mark.parametrize("module", ["modeling_evil.Module", "evil_package.Module"])
def test_custom_code_in_modules_is_not_run(tmp_path, monkeypatch, module):
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    for place in (tmp_path / "model", tmp_path / "elsewhere"):
        place.mkdir()
        (place / f"{module.partition('.')[0]}.py").write_text(CODE.format(ran=str(tmp_path / "ran")))
    folder = tmp_path / "model"
    (folder / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", "path": "", "type": module}]))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(ModelError, match=f"cannot be loaded.*{module}.* executes third-party code") as caught:
        load_embedder(str(folder))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_custom_code_in_the_configuration_is_not_run(tmp_path):
    (tmp_path / "evil.py").write_text(CODE.format(ran=str(tmp_path / "ran")))
    names = {"AutoConfig": "evil.Module", "AutoModel": "evil.Module"}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "evil", "auto_map": names}))
    with pytest.raises(ModelError, match="cannot be loaded") as caught:
        load_embedder(str(tmp_path))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


def bert(folder):
    """Write a small model without weights."""
    sizes = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 1, "intermediate_size": 8}
    config = {"model_type": "bert", "architectures": ["BertModel"], "vocab_size": 5, **sizes}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n")


@pytest.mark.parametrize("weights", [b"", b"\xff" * 64, b"\x40" + bytes(7) + b"{" * 64])
def test_error_names_damaged_weights(tmp_path, weights):
    bert(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(weights)
    with pytest.raises(DamagedModelError, match=r"model\.safetensors is damaged") as caught:
        load_embedder(str(tmp_path))
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", ["config.json", "modules.json"])
@pytest.mark.parametrize("text", ["{", "1", "[" * 100_000])
def test_error_names_a_damaged_configuration(tmp_path, name, text):
    bert(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(DamagedModelError, match=rf"{name} is damaged"):
        load_embedder(str(tmp_path))


def test_pickle_is_not_loaded_and_the_error_does_not_explain_how_to(tmp_path, capfd):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    bert(tmp_path)
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Evil()))
    with pytest.raises(DamagedModelError, match=r"pytorch_model\.bin contains damaged weights or a pickle") as caught:
        load_embedder(str(tmp_path))
    output = str(caught.value) + "".join(capfd.readouterr())
    assert "weights_only" not in output
    assert not (tmp_path / "ran").exists()
