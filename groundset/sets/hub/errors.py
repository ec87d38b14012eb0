"""What went wrong on the Hugging Face Hub, in one line that names the mend."""

from typing import Any

from groundset.models.answers import UnusableAnswerError
from groundset.privacy import without_secrets
from programs.errors import HubError

_AGAIN = "give the same command again"
_BY_STATUS = {
    401: "{host} refuses the token; set HF_TOKEN to one that may write, or give `hf auth login`",
    403: "the token may not write to {repo}; set HF_TOKEN to one that may, or name a repository of your own",
    404: "{host} knows no {repo}, or not for this token; mind how owner and branch are spelt",
    409: f"{{repo}} is being changed by somebody else; {_AGAIN}",
    412: f"{{repo}} was changed meanwhile; {_AGAIN}",
    413: "{host} finds the set too large",
    429: f"{{host}} was asked too much; wait a few minutes and {_AGAIN}",
}


def explained(error: BaseException, repo: str, host: str, token: str | None) -> HubError:
    """Return what the Hub's client raised as one line; nothing in it tells the token."""
    told = without_secrets(_told(error, repo, host))
    return HubError(told.replace(token, "(the token)") if token else told)


def _told(error: BaseException, repo: str, host: str) -> str:
    import httpx
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    cause = error.__cause__
    if isinstance(error, OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE keeps this process from the Hub; unset it"
    if isinstance(error, HfHubHTTPError):
        return _refused(error, repo, host)
    if isinstance(error, RuntimeError | LocalEntryNotFoundError) and cause is not None:
        return _told(cause, repo, host)  # of one file among several, or of one that was to be fetched
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL | ConnectionError | TimeoutError):
        return f"{host} cannot be reached ({str(error) or type(error).__name__}); once it can, {_AGAIN}"
    if isinstance(error, OSError):
        return f"a file of this machine cannot be used: {error}"
    if isinstance(error, UnusableAnswerError):
        return f"{host} {error}; mind HF_ENDPOINT"
    if str(error).startswith("Invalid metadata"):
        return f"{host} refuses the card: {error}"
    return f"{host} does not answer as the Hub does ({type(error).__name__}: {error}); mind HF_ENDPOINT"


def _refused(error: Any, repo: str, host: str) -> str:
    status = error.response.status_code
    said = error.server_message
    if status in _BY_STATUS:
        return _BY_STATUS[status].format(host=host, repo=repo)
    if status >= 500:
        return f"{host} failed ({status}); {repo} is whole: {_AGAIN}"
    return f"{host} refuses it ({status}{f': {said}' if said else ''})"
