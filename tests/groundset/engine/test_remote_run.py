from pathlib import Path

import fsspec
from scripted_run import generate, write_documents

from groundset.run import Run


def test_run_on_urls_is_that_on_files(tmp_path: Path) -> None:
    docs, storage = write_documents(tmp_path / "docs"), fsspec.filesystem("memory")
    storage.put(f"{docs}/", "/run/docs/", recursive=True)
    generate(docs, tmp_path / "local", size=3, parser="none")
    generate("memory://run/docs", tmp_path / "remote", size=3, parser="none")
    local, remote = tmp_path / "local" / "samples.jsonl", tmp_path / "remote" / "samples.jsonl"
    assert remote.read_bytes() == local.read_bytes()
    assert Run.loaded(tmp_path / "remote").settings["configuration"]["documents"] == ["memory://run/docs"]
    generate("memory://run/docs", tmp_path / "local", size=4, parser="none")
    storage.rm("/run", recursive=True)
    assert len(Run.loaded(tmp_path / "local").samples) == 4, "continued with the same documents"
