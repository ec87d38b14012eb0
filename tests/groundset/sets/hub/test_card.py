"""The dataset card: front matter, text, escaping and merging."""

import pytest
import yaml
from huggingface_hub import DatasetCard
from markdown_it import MarkdownIt

from groundset.sets.hub.card import LICENCES, licence_named, markdown_text
from groundset.sets.hub.folder import merged_card
from groundset.store.reviews import Review
from groundset.store.run_store import RunStore
from programs.errors import InputError

HOSTILE = (
    "<script>alert(1)</script>", "a | b | c", "[click](https://evil.example)", "![x](https://evil.example/x.png)",
    "**bold** `code` ~~gone~~ __init__", "https://evil.example/x", "www.evil.example", "me@evil.example", "@everybody",
    "# head\n## more\r\n- list", "line\u2028separator\u0085next", "\u202ereversed", "---\nlicense: mit\n---",
    "<!-- groundset:end --> after", "```\nfence\n```", "$x^2$ \\[y\\]", "{{ card }} {% raw %}", "é ü 漢字 🚢",
    "&lt;b&gt;", "x" * 5000,
)  # fmt: skip


@pytest.fixture
def card(push, tmp_path):
    """Return the card of a run as text."""

    def card(*given, **options):
        push(*given, **options, dry_run=tmp_path / "dry")
        return (tmp_path / "dry" / "README.md").read_text(encoding="utf-8")

    return card


def section(text, title):
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_front_matter(card, folder):
    data = DatasetCard(card()).data.to_dict()
    assert data == {
        "license": "cc-by-4.0",
        "language": ["en"],
        "size_categories": ["n<1K"],
        "task_categories": ["question-answering", "text-retrieval"],
        "tags": ["rag", "evaluation", "synthetic", "groundset"],
        "pretty_name": "demo",
        "configs": [
            {
                "config_name": "qa",
                "default": True,
                "data_files": [
                    {"split": "test", "path": "data/qa/test-00000-of-00001.parquet"},
                    {"split": "train", "path": "data/qa/train-00000-of-00001.parquet"},
                ],
            },
            {
                "config_name": "corpus",
                "data_files": [{"split": "corpus", "path": "data/corpus/corpus-00000-of-00001.parquet"}],
            },
        ],
    }


def test_ambiguous_yaml_values_stay_strings(card, run_of, tmp_path):
    data = DatasetCard(card(run_of(tmp_path / "norwegian", language="no", split="on"), repo="you/1e3")).data
    assert data.language == ["no"]
    assert data.configs[0]["data_files"][0]["split"] == "on"
    assert data.pretty_name == "1e3"
    assert "language" in card(run_of(tmp_path / "odd", language="Klingon: <b>"))


def test_card_describes_the_set(card):
    text = card()
    assert "2 questions" in text
    assert "3 passages from 1 documents" in text
    assert "| train | 1 | simple 1 | time 1 |" in text
    made = section(text, "How it was made")
    assert "recipe single" in made
    assert f"| language model | tiny.gguf | {'a' * 64} |" in made
    assert "| judge | head by fit-head | 0.424 | 58 % (49 to 68 %) |" in made
    assert "58 % (49 to 68 %)" in section(text, "How good it is")
    assert 'qa = load_dataset("you/demo", "qa")' in section(text, "How to load it")
    assert 'qa["test"][0]' in text
    assert "No person has reviewed" in text


def test_estimates_measured_on_runs_cover_easy_questions_only(card, run_of, meta, tmp_path):
    judge = meta["compiled"]["judge"] | {"measured_on": 98, "kinds": {"time": {}}}
    all_easy = card(run_of(tmp_path / "easy", 3, easy=3, meta={"compiled": {"judge": judge}}))
    assert "98 questions of other runs, not on this set.\n" in section(all_easy, "How good it is")
    some = card(run_of(tmp_path / "some", 3, easy=2, meta={"compiled": {"judge": judge}}))
    assert "the 2 easy questions, not to the other 1.\n" in section(some, "How good it is")
    none = card(run_of(tmp_path / "hard", 3, meta={"compiled": {"judge": judge}}))
    assert "There is no estimate" in section(none, "How good it is")


def test_code_of_the_card_runs(card, tmp_path):
    code = card().partition("```python\n")[2].partition("```")[0].replace('"you/demo"', repr(str(tmp_path / "dry")))
    seen = {}
    exec(code.replace(', "qa")', f', "qa", cache_dir={str(tmp_path / "c")!r})'), seen)
    assert seen["question"]["id"] == "q-0"
    assert len(seen["corpus"]) == 3


def test_card_has_the_share_signed(card, run_of, tmp_path):
    folder = run_of(tmp_path / "read", 12)
    with RunStore.review(folder) as store:
        for number in range(10):
            store.reviews.add(Review(item=f"q-{number}", reader="ann", verdict="good" if number < 8 else "bad"))
        store.reviews.add(Review(item="q-0", reader="bob", verdict="bad"))
        store.reviews.add(Review(item="q-unknown", reader="bob", verdict="bad"))
    text = " ".join(section(card(folder), "How good it is").split())
    # Wilson's interval of 7 in 10 by hand: (0.7 + z²/20 ± z √(0.021 + z²/400)) / (1 + z²/10) with z = 1.96
    assert "reviewed 10 questions of this set: they signed 7 (70 %, 95 % Wilson interval 40 to 89 %)" in text
    assert "refused 2, which are left out, and disagreed on 1." in text
    assert "only questions signed by a reviewer" in card(folder, signed=True)


def test_card_without_models_and_critics(card, run_of, tmp_path):
    bare = card(run_of(tmp_path / "bare", 1, meta={"models": None, "compiled": {}}))
    assert "The recipe is unknown." in bare
    assert "There is no estimate" in bare
    assert DatasetCard(bare).data.tags == ["rag", "evaluation", "groundset"], "not tagged as synthetic"
    bare = card(run_of(tmp_path / "uncompiled", 1, meta={"compiled": {}}))
    assert "No critic was compiled." in bare


def test_card_counts_only_parents_with_samples(card, run_of, tmp_path):
    held = {"run": 2, "docs": 0}
    parents = [{"name": name, "identity": "1" * 64, "samples": samples} for name, samples in held.items()]
    lineage = {"command": "update", "options": {}, "parents": parents}
    made = section(card(run_of(tmp_path / "updated", meta={"lineage": lineage})), "How it was made")
    assert "Made by `groundset update` from 1 earlier set, " in made


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_escaped_in_markdown(name):
    escaped = markdown_text(name)
    table = f"| a | b |\n|---|---|\n| x {escaped} | end |"
    page = MarkdownIt("gfm-like", {"linkify": False}).enable("table").render(table)
    assert page.count("<td>") == 2
    assert "<td>end</td>" in page
    inside = page.partition("<td>x ")[2].partition("</td>")[0]
    assert "<" not in inside, "no link, picture, emphasis or HTML"
    assert "://" not in escaped
    assert "\n" not in escaped
    assert len(escaped) < 500


@pytest.mark.parametrize("name", [name for name in HOSTILE if name[0] in "<|-#`"])
def test_hostile_names_do_not_change_the_card(card, run_of, tmp_path, name):
    models = {
        "lm": {"name": name, "sha256": name},
        "embedder": {"name": "e"},
        "critic": {"name": name, "compiled": name},
    }
    configuration = {"recipe": name}
    hostile = {"models": models, "configuration": configuration}
    run = run_of(tmp_path / "hostile", 1, meta=hostile, evolution=name, metadata={"kind": name}, language=name)
    text = card(run)
    headings = [token for token in MarkdownIt().parse(DatasetCard(text).text) if token.type == "heading_open"]
    assert len(headings) == 5
    assert text.count("<!-- groundset:end -->") == 1
    assert "<script" not in text
    assert DatasetCard(text).data.license == "cc-by-4.0"
    assert card(run) == text, "it is found again and replaced, not added to"


FRONT = {
    "license": "mit",
    "task_categories": ["a"],
    "tags": ["rag"],
    "pretty_name": "Ours",
    "configs": [{"config_name": "qa", "default": True}],
}
BODY = "<!-- groundset:begin -->\nours\n<!-- groundset:end -->\n"


def merge(theirs):
    merged = merged_card(theirs, FRONT, BODY, "you/demo")
    assert merged_card(merged, FRONT, BODY, "you/demo") == merged, "the second time changes nothing"
    return merged, yaml.safe_load(merged.split("---\n")[1])


@pytest.mark.parametrize("theirs", ["", "\n", "---\n---\n", "---\nlicense: mit\n---\n"])
def test_merge_with_an_empty_card(theirs):
    merged, front = merge(theirs)
    assert front == FRONT
    assert merged.endswith(f"---\n\n{BODY}")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_merge_keeps_other_text_and_keys(end):
    theirs = f"---\nlicense: gpl\nlanguage: de\ntags: ships\npretty_name: Theirs\n---\n# Theirs\n\n{BODY}\nend\n"
    merged, front = merge(theirs.replace("ours", "old").replace("\n", end))
    assert front == {
        "license": "mit",
        "language": "de",
        "tags": ["ships", "rag"],
        "pretty_name": "Theirs",
        "task_categories": ["a"],
        "configs": FRONT["configs"],
    }
    assert "# Theirs" in merged
    assert "old" not in merged
    assert merged.endswith("ours\n<!-- groundset:end -->\n\nend\n")


def test_merge_keeps_other_configurations():
    mine = "---\nconfigs:\n- config_name: gold\n  default: true\n- config_name: qa\n  data_files: old\n---\nText.\n"
    merged, front = merge(mine)
    assert front["configs"] == [{"config_name": "qa"}, {"config_name": "gold", "default": True}]
    assert merged.endswith(f"Text.\n\n{BODY}")


def test_merge_ignores_an_incomplete_marker():
    merged, _ = merge("Mine <!-- groundset:begin --> and no end\n")
    assert merged.count("<!-- groundset:begin -->") == 2


@pytest.mark.parametrize("front", ["[", "- a", "1: a", "!!python/object:os.system x"])
def test_invalid_front_matter_is_rejected(front):
    with pytest.raises(InputError, match="you/demo: the front matter is not a YAML mapping"):
        merged_card(f"---\n{front}\n---\n", FRONT, BODY, "you/demo")


def test_keys_that_shadow_methods_are_rejected():
    with pytest.raises(InputError, match="key to_yaml"):
        merged_card("---\nto_yaml: x\n---\n", FRONT, BODY, "you/demo")


def test_yaml_aliases_are_rejected():
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
    with pytest.raises(InputError, match=r"you/demo: .*aliases"):
        merged_card("\n".join(["---", *lines, "---"]), FRONT, BODY, "you/demo")


def test_licence_names():
    assert licence_named(" Apache-2.0 ") == "apache-2.0"
    assert licence_named("other") == "other"
    assert {"cc0-1.0", "odbl", "unknown", "openrail++"} <= LICENCES
    for name, hint in (("cc-by", r"did you mean .*\bcc-by-4\.0\b"), ("MYT", "did you mean mit"), ("", "cc-by-4.0")):
        with pytest.raises(InputError, match=f"--licence {name}: .*{hint}"):
            licence_named(name)
