"""Lets tests import the modules beside them, which --import-mode=importlib does not, and shares their fixtures."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

from scripted_run import chunks, opened  # noqa: F401
