import sys
from pathlib import Path

# What scripts a run is a plain module beside the tests of runs.
sys.path.insert(0, str(Path(__file__).parent / "runs"))
