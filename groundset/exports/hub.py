"""`groundset push`: a run as a dataset on the Hugging Face Hub, in one commit, or in a folder.

Paths of this machine, addresses of servers, and texts of users in options are not published. The
token is never stored or shown.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import StringConstraints, field_validator

from groundset import __version__
from groundset.exports.card import (
    MARKER,
    card,
    data_file,
    held_personal,
    is_local,
    public_name,
    public_record,
)
from groundset.exports.formats import CORPUS, QA, TABLES
from groundset.exports.sets import EvaluationSet, SetOptions, joined
from groundset.files import check_empty, json_text, whole_folder, write_text
from groundset.models.fetch import online
from groundset.options import RUN, option
from groundset.printing import say
from groundset.privacy import without_secrets
from groundset.programs.errors import GroundsetError, HubError, InputError
from groundset.programs.text import text_id
from groundset.programs.types import Chunk, Sample
from groundset.run.record import listed
from groundset.run.run import open_run

CARD, PROVENANCE = "README.md", "groundset.json"
_TABLES = [f"data/{config}/*-?????-of-?????.parquet" for config in (QA, CORPUS)]
_ROW_GROUP = 20_000  # rows; tens of megabytes, the unit in which viewers and streams read
_KIND = "dataset"
_TIMEOUT = 120.0  # seconds without an answer; the Hub's client would wait for ever


class PushOptions(SetOptions):
    """Publish a run on the Hugging Face Hub.

    Uploads the questions, the corpus and a dataset card in one commit. The token is read from
    HF_TOKEN or from the file that `hf auth login` writes. Tables and card of an earlier push are
    replaced; other files of the dataset stay.
    """

    run: Path = RUN
    repo: str = option(..., "The dataset; created if missing.", metavar="OWNER/NAME")
    licence: Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)] = option(
        ...,
        "The licence of the texts, as the Hub's identifier: cc-by-4.0, apache-2.0, other ...",
        metavar="ID",
    )
    private: bool = option(False, "Create a private dataset.")
    replace_card: bool = option(
        False, "Replace a card (README.md) of the Hub that groundset did not write."
    )
    dry_run: bool = option(False, "Say what would be published; upload and write nothing.")
    out: Path | None = option(
        None,
        "Write all files to this new or empty folder instead of uploading them.",
        metavar="DIR",
    )

    @field_validator("repo")
    @classmethod
    def _check_repo(cls, repo: str) -> str:
        from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

        validate_repo_id(repo)
        if "/" not in repo:
            raise ValueError("must be owner/name")
        return repo


class Pushed(NamedTuple):
    """The numbers of published questions and chunks; of an upload, what became of
    the dataset.
    """

    questions: int
    chunks: int
    url: str | None = None
    is_private: bool | None = None
    is_changed: bool | None = None


def push(options: PushOptions) -> None:
    """Publish a run and print where it is."""
    pushed = push_run(options)
    counts = f"{pushed.questions} questions and {pushed.chunks} chunks"
    if options.dry_run:
        say(f"{counts} would go to {options.repo}. Nothing was written.")
    elif pushed.url is None:
        say(f"{counts} for {options.repo}: {options.out}")
    else:
        visibility = "private" if pushed.is_private else "public"
        say(
            f"{counts}: {pushed.url}"
            f" ({visibility}){'' if pushed.is_changed else '; nothing has changed'}"
        )


def push_run(options: PushOptions) -> Pushed:
    """Publish a run on the Hugging Face Hub, as `groundset push` does.

    Raises:
        InputError: an option or the run is wrong, or the dataset has a card of its own.
        HubError: the Hub cannot be reached or refuses a request; repeating the push is safe.
    """
    published = _portable(
        joined([open_run(options.run)], signed=options.signed, shares=options.splits)
    )
    pushed = Pushed(len(published.samples), len(published.chunks))
    if held := held_personal(published.chunks):
        say(f"the passages hold {listed(held)}: read them before you publish", err=True)
    if options.dry_run:
        return pushed
    if options.out is not None:
        check_empty(options.out)
        with whole_folder(options.out) as temporary:
            _write(published, options, temporary)
        return pushed
    with TemporaryDirectory(prefix="groundset-") as folder:
        _write(published, options, Path(folder))
        with _hub(options.repo) as api:
            return _upload(api, options, Path(folder), pushed)


def _portable(found: EvaluationSet) -> EvaluationSet:
    """Replace paths of this or another machine: by the name of the file, and in ids by a digest."""

    def named(name: str) -> str:
        return text_id(name) if is_local(name) else name

    def moved(chunk: Chunk) -> Chunk:
        ids = {"chunk_id": named(chunk.chunk_id), "doc_id": named(chunk.doc_id)}
        names = {"path": public_name(chunk.path), "title": public_name(chunk.title)}
        return chunk.model_copy(update=ids | names)

    def changed(sample: Sample) -> Sample:
        groups = tuple(tuple(map(named, group)) for group in sample.retrieval_gt)
        contexts = tuple(map(moved, sample.contexts))
        return sample.model_copy(
            update={"id": named(sample.id), "contexts": contexts, "retrieval_gt": groups}
        )

    samples, chunks = list(map(changed, found.samples)), list(map(moved, found.chunks))
    splits = found.splits and {named(name): each for name, each in found.splits.items()}
    return found._replace(samples=samples, chunks=chunks, splits=splits)


def _write(found: EvaluationSet, options: PushOptions, folder: Path) -> None:
    """Write tables, card and provenance; the same run gives the same bytes."""
    import pyarrow.parquet as pq

    tables = {config: file.tables(found) for config, file in TABLES.items()}
    for config, splits in tables.items():
        for name, table in splits.items():
            file = folder / data_file(config, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:  # Arrow cannot open paths that are not UTF-8
                pq.write_table(table, stream, row_group_size=_ROW_GROUP)
    record = public_record(found.runs[0].record)
    write_text(folder / PROVENANCE, json_text(record, indent=2) + "\n")
    text = card(found, record, repo=options.repo, licence=options.licence, splits=list(tables[QA]))
    write_text(folder / CARD, text)


def _upload(api: Any, options: PushOptions, folder: Path, pushed: Pushed) -> Pushed:
    """Upload a folder in one commit that names its parent, so that an interrupted push changes
    nothing.
    """
    repo = options.repo
    host = without_secrets(api.endpoint)
    url = f"{host}/datasets/{repo}"
    api.create_repo(repo, repo_type=_KIND, private=options.private or None, exist_ok=True)
    info = api.dataset_info(repo)
    if options.private and not info.private:
        raise InputError(
            f"--private: {url} is public; make it private in its settings, or name another --repo"
        )
    at = {"repo_type": _KIND, "revision": info.sha}
    if api.file_exists(repo, CARD, **at) and not options.replace_card:
        with TemporaryDirectory(prefix="groundset-") as place:
            got = api.hf_hub_download(repo, CARD, **at, local_dir=place)
            if MARKER.encode() not in Path(got).read_bytes():
                raise InputError(
                    f"{url}: its {CARD} was not written by groundset;"
                    " keep a copy of what you need, then use --replace-card"
                )
    say(f"texts go to {urlsplit(host).netloc}", err=True)
    commit = api.upload_folder(
        repo_id=repo,
        repo_type=_KIND,
        folder_path=folder,
        delete_patterns=_TABLES,
        commit_message=(
            f"Evaluation set of {pushed.questions} questions and {pushed.chunks} passages"
        ),
        parent_commit=info.sha,
    )
    return pushed._replace(
        url=url, is_private=bool(info.private), is_changed=commit.oid != info.sha
    )


# By the status of an answer.
_MENDS = {
    401: "set HF_TOKEN to a token with write access, or run `hf auth login`",
    403: "set HF_TOKEN to a token with write access to {repo}, or name one of your own",
    404: "check the spelling of {repo}, and that your token may write there",
    412: "{repo} was changed during the push; run the command again",
}


@contextmanager
def _hub(repo: str) -> Iterator[Any]:
    """Yield the Hub's client with the user's token; its exceptions become a ``HubError`` without
    it.
    """
    import httpx
    from huggingface_hub import HfApi, constants, get_session, get_token

    endpoint = (os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    token = get_token()
    if not token:
        raise HubError("no token for the Hub; set HF_TOKEN or run `hf auth login`")
    session = get_session()
    timeout, session.timeout = session.timeout, httpx.Timeout(_TIMEOUT)
    # By Xet, a folder may become several commits, and not all endpoints speak it.
    disabled, constants.HF_HUB_DISABLE_XET = constants.HF_HUB_DISABLE_XET, True
    try:
        with online():
            yield HfApi(
                endpoint=endpoint,
                token=token,
                library_name="groundset",
                library_version=__version__,
            )
    except GroundsetError:
        raise
    except (
        httpx.HTTPError,
        httpx.InvalidURL,
        OSError,
        ValueError,
        RuntimeError,
        KeyError,
    ) as error:
        message = without_secrets(_explained(error, repo, without_secrets(endpoint)))
        raise HubError(" ".join(message.replace(token, "(the token)").split())) from error
    finally:
        constants.HF_HUB_DISABLE_XET = disabled
        session.timeout = timeout


def _explained(error: BaseException, repo: str, host: str) -> str:
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set; unset it"
    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        mend = _MENDS.get(status, "run the command again later").format(repo=repo)
        return f"{host} refuses the request ({status}: {error.server_message}); {mend}"
    if error.__cause__ is not None and isinstance(error, RuntimeError | OSError):
        return _explained(error.__cause__, repo, host)  # the client wraps errors of single files
    return f"{host}: {type(error).__name__}: {error}; run the command again later"
