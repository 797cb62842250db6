"""What does a failure, a neighbour or a placement do to a step?"""

from __future__ import annotations

from netloom.study.whatif.changes import Change
from netloom.study.whatif.failure import WhatIf, whatif
from netloom.study.whatif.place import place
from netloom.study.whatif.share import Sharing, share

__all__ = ["Change", "Sharing", "WhatIf", "place", "share", "whatif"]
