from __future__ import annotations

import sys
from pathlib import Path

# pytest imports tests by path and leaves sys.path alone; cost_parts.py is shared by this folder.
sys.path.append(str(Path(__file__).parent))
