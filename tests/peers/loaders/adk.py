"""Load an evaluation with the Agent Development Kit, which makes an evaluation set of it."""

import json
import sys
from pathlib import Path

from google.adk.evaluation.agent_evaluator import AgentEvaluator

target = Path(sys.argv[2])
AgentEvaluator.migrate_eval_data_to_new_schema(
    str(Path(sys.argv[1], "evaluation.json")), str(target)
)
[case] = json.loads(target.read_text("utf-8"))["eval_cases"]
turns = [
    (
        turn["user_content"]["parts"][0]["text"],
        turn["final_response"]["parts"][0]["text"],
        turn["intermediate_data"],
    )
    for turn in case["conversation"]
]
target.write_text(json.dumps(turns), "utf-8")
