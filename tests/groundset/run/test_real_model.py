"""A whole run with the smallest model: interrupted, continued, and the same as one that was not."""

import pytest

from groundset.run.generate import make_run
from groundset.run.options import GenerateOptions

pytestmark = pytest.mark.model


def write_document(folder):
    """A document of two chunks with plain facts."""
    folder.mkdir()
    parts = [
        f"## {name}\n\nThe {name} mill was built in {year} by {builder}. It stands on the river Ebb"
        f" near the town of {town}. The mill produced {amount} tonnes of flour in its first year."
        f" {builder} sold the mill to the city of {town} in {year + 30}. A museum of milling opened"
        f" in the building in {year + 150}."
        for name, year, builder, town, amount in (
            ("Arden", 1803, "John Carver", "Selby", 120),
            ("Birkland", 1811, "Mary Holt", "Otley", 90),
        )
    ]
    (folder / "mills.md").write_text("# Mills on the Ebb\n\n" + "\n\n".join(parts))
    return folder


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("smollm2")
def test_an_interrupted_run_becomes_the_same_as_one_that_was_not(tmp_path):
    given = {
        "documents": (write_document(tmp_path / "docs"),),
        "lm": "smollm2-135m",
        "size": 1,
        "chunk_size": 350,
        "max_rank": 0,
        "track": False,
        "quiet": True,
    }
    whole = make_run(GenerateOptions(out=tmp_path / "whole", **given))
    assert whole.status in ("complete", "short")
    assert len(whole) or whole.rejects
    assert (
        make_run(GenerateOptions(out=tmp_path / "parts", budget_calls=1, **given)).status
        == "budget"
    )
    make_run(GenerateOptions(out=tmp_path / "parts", **given))
    for name in ("samples.jsonl", "rejects.jsonl"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_questions_of_a_table_have_the_language_of_their_column(smollm2, tmp_path):
    asked = [
        "Who mends a tap of the Orrin 5 that leaks?",
        "Qui répare un robinet de la pompe Orrin 5 qui fuit ?",
    ]
    told = [
        "The dealer in Ebbing mends it within two days.",
        "Le vendeur de la ville le répare en deux jours.",
    ]
    (tmp_path / "taps.csv").write_text("q_en,q_fr,a_en,a_fr\n" + ",".join(asked + told))
    given = {"lm": "smollm2-135m", "size": 2, "max_rank": 0, "track": False, "quiet": True}
    made = make_run(GenerateOptions(documents=(tmp_path,), out=tmp_path / "out", **given))
    assert [(each.language, each.question) for each in made] == list(
        zip(("en", "fr"), asked, strict=True)
    )
