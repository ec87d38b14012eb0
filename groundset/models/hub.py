"""The Hugging Face Hub as a source of model files.

`huggingface_hub` gives the address (so `HF_ENDPOINT` mirrors work) and the HTTP client (proxies,
certificates, offline mode). The transfer itself is ours: its own download function deletes what an
interrupted download left and waits long for a server that does not answer, whereas here a `.part` file is
continued with a range request and an unreachable server costs a few seconds. A token is sent only for files
that a user names (`groundset/models/hub_files.py`); none is stored, and nothing is reported.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from groundset.models.catalogue import HubSource, ModelFile
from groundset.models.parts import PartFile, require_space
from groundset.models.progress import PullProgress, Report
from programs.errors import DownloadError

CONNECT_TIMEOUT = 4.0
READ_TIMEOUT = 15.0
_TRUE = frozenset({"1", "true", "yes", "on"})


def hub_enabled(choice: bool | None) -> bool:
    """Say whether the Hub is asked: as chosen, else if `GROUNDSET_HUB` is set and `HF_HUB_OFFLINE` is not."""
    if choice is not None:
        return choice
    offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in _TRUE
    return os.environ.get("GROUNDSET_HUB", "").lower() in _TRUE and not offline


def hub_answers() -> bool:
    """Say within a few seconds whether the Hub can be reached from here; offline it is not asked and does not."""
    import httpx
    from huggingface_hub import constants, get_session
    from huggingface_hub.errors import OfflineModeIsEnabled

    try:
        get_session().head(os.environ.get("HF_ENDPOINT") or constants.ENDPOINT, timeout=CONNECT_TIMEOUT)
    except (httpx.HTTPError, OfflineModeIsEnabled):
        return False
    return True


def fetch_from_hub(
    source: HubSource,
    files: tuple[ModelFile, ...],
    staging: Path,
    folder: Path,
    progress: PullProgress,
    *,
    part: type[PartFile] = PartFile,
    token: str | None = None,
) -> None:
    """Download `files` from the Hub into `folder`, continuing what an interrupted attempt left in `staging`.

    Args:
        source: where they are.
        files: what they have to be.
        staging: the folder of their unfinished pieces.
        folder: where they go.
        progress: who shows the progress.
        part: receives each of them.
        token: for repositories that want one.

    Raises:
        DownloadError: The Hub cannot be reached or refuses; what arrived is kept for the next attempt.
        ChecksumError: A file is not what `files` says; it has been deleted.
    """
    parts = [part(file, staging) for file in files]
    total = sum(file.size for file in files)
    require_space(staging, total - sum(each.size() for each in parts))
    done = 0
    with progress.stage(f"Downloading from the Hugging Face Hub ({source.repo})", total) as report:
        for each in parts:
            _fetch_file(source, each, token, report, done)
            each.install(folder / each.file.path)
            done += each.file.size


def _fetch_file(source: HubSource, part: PartFile, token: str | None, report: Report, done: int) -> None:
    """Receive one file; a broken connection is taken up again as long as every attempt brings new bytes."""
    while True:
        before = part.size()
        try:
            for reached in _attempt(source, part, token):
                report(done + reached)
        except DownloadError:
            if part.size() <= before:
                raise
        else:
            return


def _attempt(source: HubSource, part: PartFile, token: str | None) -> Iterator[int]:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import httpx
    from huggingface_hub import get_session, hf_hub_url
    from huggingface_hub.errors import OfflineModeIsEnabled

    url = hf_hub_url(source.repo, part.file.path, revision=source.revision, endpoint=os.environ.get("HF_ENDPOINT"))
    offset = part.size()
    if offset >= part.file.size:
        yield from part.receive((), resume=True)
        return
    headers = {"User-Agent": "groundset", "Accept-Encoding": "identity"}
    if token:
        headers["Authorization"] = f"Bearer {token}"  # which the client does not send on to another host
    if offset:
        headers["Range"] = f"bytes={offset}-"
    timeout = httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
    try:
        with get_session().stream("GET", url, headers=headers, timeout=timeout) as response:
            response.raise_for_status()
            resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
            yield from part.receive(response.iter_bytes(), resume=resumed)
    except OfflineModeIsEnabled as error:
        raise DownloadError("The Hugging Face Hub is switched off by HF_HUB_OFFLINE.") from error
    except httpx.HTTPStatusError as error:
        raise DownloadError(
            f"The Hugging Face Hub answered {error.response.status_code} for {source.repo}/{part.file.path}."
        ) from error
    except httpx.HTTPError as error:
        reason = str(error) or type(error).__name__
        raise DownloadError(f"The Hugging Face Hub cannot be reached ({reason}).") from error
