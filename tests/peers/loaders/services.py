"""Read id, question, answer and contexts with the model or loader of a client, or from what it
sends to its server.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path

folder, target = map(Path, sys.argv[1:])
[file] = folder.glob("*.jsonl")
rows = [json.loads(line) for line in file.read_text("utf-8").split("\n")[:-1]]
if folder.name == "inspect":
    from inspect_ai.dataset import json_dataset

    read = [
        (each.id, each.input, each.target, each.metadata["contexts"])
        for each in json_dataset(str(file))
    ]
elif folder.name == "opik":
    from opik.api_objects.dataset.converters import from_jsonl_file

    keys = ("sample_id", "input", "expected_output", "reference_contexts")
    read = [
        [item.get_content()[key] for key in keys] for item in from_jsonl_file(str(file), {}, [])
    ]
elif folder.name == "langfuse":
    from langfuse.api.dataset_items.types.create_dataset_item_request import (
        CreateDatasetItemRequest,
    )

    items = [CreateDatasetItemRequest(dataset_name="set", **row) for row in rows]
    read = [(each.id, each.input["question"], *each.expected_output.values()) for each in items]
elif folder.name == "langsmith":
    from langsmith.schemas import ExampleCreate

    items = [ExampleCreate(**row) for row in rows]
    read = [
        (each.metadata["id"], each.inputs["question"], *each.reference_outputs.values())
        for each in items
    ]
else:
    import httpx
    from phoenix.client import Client
    from phoenix.client.resources.datasets import DatasetUploadError

    def refuse(request):
        sent.append(request)
        return httpx.Response(
            200 if request.method == "GET" else 500, text="20.26.1", request=request
        )

    sent = []
    client = Client(
        http_client=httpx.Client(transport=httpx.MockTransport(refuse), base_url="http://localhost")
    )
    with suppress(DatasetUploadError):
        client.datasets.create_dataset(name="set", examples=rows)
    body = json.loads(sent[-1].content)
    parts = zip(body["example_ids"], body["inputs"], body["outputs"], strict=True)
    read = [(each, asked["question"], *expected.values()) for each, asked, expected in parts]
target.write_text(json.dumps(read))
