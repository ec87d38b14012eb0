"""An index file of FAISS, with the id or the text of the chunk of each row in a JSON list beside it.

The file is read and searched in a child process with limits, because it may be damaged.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from groundset.bounded import BoundedProcess, LimitError, Limits
from groundset.retrieval_eval.existing.base import ExistingStore, StoreAnswer, StoreTask
from programs.errors import InputError
from programs.untrusted import small_text

_IDS_SUFFIX = ".ids.json"
_IDS_BYTES = 256 << 20
_MEMORY_MB, _OUTPUT_MB = 1024, 64  # memory besides that of the index
_SECONDS = 600.0  # of processor time for one batch
_BATCH = 256


def search_index(task: StoreTask, depth: int) -> StoreAnswer:
    """Search an index of any type and metric; the first hits are the best ones.

    Raises:
        InputError: it cannot be read, its dimension is not that of the embedder, or its ids do not fit it.
    """
    file = Path(task.location).expanduser()
    entries = _entries(file)
    known = [task.chunks.find(entry) is not None for entry in entries]
    if not any(known):
        raise InputError(f"{_name(file)}: no entry of {file}{_IDS_SUFFIX} is the id or the text of a chunk of the run")
    # Enough hits even if all others come first.
    distinct = len({task.chunks.find(entry) for entry in entries} - {None})
    limit = min(len(entries), depth + len(entries) - distinct)
    rankings = []
    memory = _MEMORY_MB + 3 * (file.stat().st_size >> 20)
    process = BoundedProcess(f"{__name__}:search_file", Limits(memory, _OUTPUT_MB))
    try:
        for start in range(0, len(task.questions), _BATCH):
            vectors = task.questions[start : start + _BATCH].tolist()
            found = process({"file": str(file), "vectors": vectors, "limit": limit}, _SECONDS)
            _check_shape(file, found, len(entries), task)
            rankings += [task.chunks.ranking((entries[row] for row in rows), depth) for rows in found["rows"]]
    except LimitError as error:
        raise InputError(f"{_name(file)}: {error}") from error
    except RuntimeError as error:
        raise InputError(f"{_name(file)}: not an index that FAISS can read and search") from error
    finally:
        process.end()
    unknown = known.count(False)
    remark = f"{unknown:,} of {len(entries):,} ids of faiss:{task.location} are not chunks of the run; left out."
    return StoreAnswer(rankings, remark if unknown else "")


def search_file(argument: dict[str, Any]) -> dict[str, Any]:
    """Search an index file; called in the child process.

    No rows are returned if the vectors do not have the dimension of the index.
    """
    import numpy as np

    index = _read(argument["file"])
    vectors = np.array(argument["vectors"], dtype=np.float32)
    found: dict[str, Any] = {"dimension": index.d, "count": index.ntotal, "rows": []}
    if index.d == vectors.shape[1] and index.ntotal:
        labels = index.search(vectors, min(argument["limit"], index.ntotal))[1].tolist()
        found["rows"] = [[label for label in row if label != -1] for row in labels]  # -1: no further hit
    return found


@cache
def _read(file: str) -> Any:
    import faiss

    return faiss.read_index(file)


def _check(location: str) -> None:
    file = Path(location).expanduser()
    if not file.is_file():
        raise InputError(f"{_name(file)}: no such file")
    _entries(file)


def _entries(file: Path) -> list[Any]:
    ids = Path(f"{file}{_IDS_SUFFIX}")
    try:
        entries = json.loads(small_text(ids, _IDS_BYTES))
    except FileNotFoundError as error:
        raise InputError(f"{_name(file)}: needs {ids}, a JSON list with the chunk id of each row") from error
    except OSError as error:
        raise InputError(f"{ids}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{ids}: not JSON") from error
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise InputError(f"{ids}: must be a JSON list of chunk ids")
    return entries


def _check_shape(file: Path, found: dict[str, Any], entries: int, task: StoreTask) -> None:
    dimension = task.questions.shape[1]
    if found["dimension"] != dimension:
        raise InputError(
            f"{_name(file)}: its vectors have {found['dimension']} dimensions, those of --embedder {task.embedder} "
            f"{dimension}"
        )
    if found["count"] != entries:
        raise InputError(f"{_name(file)}: has {found['count']:,} rows, {file}{_IDS_SUFFIX} {entries:,} ids")
    if any(not 0 <= row < entries for rows in found["rows"] for row in rows):
        raise InputError(f"{_name(file)}: its labels are not row numbers; save an index without own ids")


def _name(file: Path) -> str:
    return f"--retriever faiss:{file}"


EXISTING_STORE = ExistingStore("faiss", "FILE", _check, search_index)
