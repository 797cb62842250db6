"""What happens in one optimizer step, packet by packet?"""

from __future__ import annotations
