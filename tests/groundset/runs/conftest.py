import sys
from pathlib import Path

# The scripted parts are a plain module, because the kill tests start them in a process of their own.
sys.path.insert(0, str(Path(__file__).parent))
