import sys
from pathlib import Path

# What scripts a run is a plain module beside the tests of runs, what a report tells of one beside those of reports.
sys.path[:0] = [str(Path(__file__).parent / name) for name in ("runs", "reporting")]
