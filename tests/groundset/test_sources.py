from pathlib import Path

import pytest

from groundset.engine.config import make_config
from groundset.options import sources_of
from groundset.sources import Url, source_of
from programs.errors import InputError


def test_paths_and_urls() -> None:
    assert source_of("docs/a.md") == Path("docs/a.md")
    assert source_of("C:\\docs") == Path("C:\\docs")
    assert source_of("file:///docs/a%20b.md") == Path("/docs/a b.md")
    url = source_of("s3://bucket/docs/a.PDF")
    assert isinstance(url, Url)
    assert (url, url.protocol, url.name, url.suffix) == ("s3://bucket/docs/a.PDF", "s3", "a.PDF", ".PDF")
    assert sources_of("documents", ["s3://bucket//a", Path("b")]) == (Url("s3://bucket//a"), Path("b"))
    assert sources_of("documents", "~/c") == (Path("~/c").expanduser(),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s3://key:hush@bucket/docs", "s3://bucket/docs: without user and password"),
        ("https://hush@host/a.md", "https://host/a.md: without user and password"),
        ("https://host/a.md?sig=hush", "https://host/a.md: name a URL without a query"),
        ("zip://a.md::s3://hush@bucket/b.zip", "URLs joined by :: are not supported"),
    ],
)
def test_credentials_are_refused_and_not_repeated(text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        make_config({"documents": [text]})
    assert message in str(refused.value)
    assert "hush" not in str(refused.value)


def test_configuration_keeps_urls(tmp_path: Path) -> None:
    file = tmp_path / "options.toml"
    file.write_text('documents = ["s3://bucket/docs", "here"]\nchunks = "gs://bucket/own.parquet"\n')
    config = make_config({}, file).anchored()
    assert config.sources == (Url("s3://bucket/docs"), tmp_path / "here", Url("gs://bucket/own.parquet"))
    assert config.to_dict()["documents"] == ["s3://bucket/docs", str(tmp_path / "here")]
    assert make_config(config.to_dict()).sources == config.sources
