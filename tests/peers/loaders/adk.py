"""Load an evaluation set as `adk eval` of the Agent Development Kit does."""

import json
import sys
from pathlib import Path

from google.adk.evaluation.local_eval_sets_manager import load_eval_set_from_file

target = Path(sys.argv[2])
found = load_eval_set_from_file(str(Path(sys.argv[1], "evaluation.evalset.json")), "set")
cases = [
    [case.eval_id, *(content.parts[0].text for content in (turn.user_content, turn.final_response))]
    for case in found.eval_cases
    for turn in case.conversation
]
target.write_text(json.dumps(cases), "utf-8")
