"""Load a dataset into a real Argilla server on this machine, and tell what the server then holds.

The server has its database in a temporary folder. Elasticsearch and Redis are separate installations: in the place of
the one stands a search engine that forgets everything, and jobs for the other are dropped. Neither is asked here.
"""

import json
import os
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

KEY = "groundset.apikey"
home = tempfile.TemporaryDirectory(prefix="groundset-argilla-")
os.environ |= {
    "ARGILLA_HOME_PATH": home.name,
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ARGILLA_SEARCH_ENGINE": "forgetful",
}

import argilla as rg  # noqa: E402
import rq  # noqa: E402
import uvicorn  # noqa: E402
from argilla_server.search_engine import SearchEngine  # noqa: E402


def forgetful() -> type:
    """Return a search engine whose every method does nothing."""

    async def nothing(self, *arguments, **options):
        return None

    async def new_instance(cls):
        return cls()

    methods = dict.fromkeys(SearchEngine.__abstractmethods__, nothing)
    return type("Forgetful", (SearchEngine,), {**methods, "new_instance": classmethod(new_instance)})


def serve() -> str:
    """Start the server and return its address."""
    from argilla_server import app
    from argilla_server.cli.database.migrate import migrate_db
    from argilla_server.cli.database.users.create_default import create_default

    migrate_db("head")
    create_default(api_key=KEY, password="12345678", quiet=True)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    return f"http://127.0.0.1:{listening.getsockname()[1]}"


SearchEngine.register("forgetful")(forgetful())
rq.Queue.enqueue_call = lambda *arguments, **options: None
folder = Path(sys.argv[1])
client = rg.Argilla(api_url=serve(), api_key=KEY)
rg.Workspace("reading", client=client).create()
dataset = rg.Dataset.from_disk(str(folder), workspace="reading", client=client)
for reader in json.loads((folder / "readers.json").read_text()):
    rg.User(**reader, password="12345678", client=client).create()
if json.loads((folder / "responses.json").read_text()):
    dataset.records.from_json(folder / "responses.json")
held = dataset.records(with_suggestions=True, with_responses=True).to_list(flatten=False)
shown = [question.name for question in dataset.settings.questions]
read = {"name": dataset.name, "questions": shown, "records": held}
Path(sys.argv[2]).write_text(json.dumps(read))
