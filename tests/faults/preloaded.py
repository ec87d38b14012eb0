"""The command line in processes that are forked from one that has loaded all libraries, so that many can be killed.

A script: reads a command from each line of standard input, as JSON, and writes an answer. Each command runs as a
process of its own, from its arguments to its exit status, as after ``python -m groundset``.
"""

import atexit
import json
import os
import sys
import tempfile
from importlib import import_module
from typing import Any, NoReturn

from groundset import privacy

privacy.set_defaults(hub=False)
LIBRARIES = (
    "groundset.commands.generate", "groundset.engine.making", "groundset.engine.generation",
    "groundset.retrieval.stores", "groundset.retrieval.embedder", "groundset.runtime.lms", "groundset.corpus.parsing",
    "programs.critics.registry",
    "sentence_transformers", "transformers", "faiss", "bm25s", "openai", "spacy",
)  # fmt: skip


def main() -> None:
    """Answer until standard input ends."""
    for name in LIBRARIES:
        import_module(name)
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            process, status = os.waitpid(request["wait"], request["options"])
            print(json.dumps([process, os.waitstatus_to_exitcode(status)]), flush=True)
            continue
        process = os.fork()
        if process == 0:
            run(request)
        print(process, flush=True)


def run(request: dict[str, Any]) -> NoReturn:
    """Run one command in this process, and exit; taking all libraries apart would only take time."""
    os.setsid()
    os.environ.update(request["environment"])
    tempfile.tempdir = None
    for stream, name in ((0, os.devnull), (1, request["output"]), (2, request["output"])):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), stream)
    from groundset.commands import main as command

    status: Any = 1
    try:
        command(request["arguments"])
    except SystemExit as leaving:
        status = leaving.code
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
