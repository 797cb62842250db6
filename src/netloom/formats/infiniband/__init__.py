"""What OpenSM, ibsim and infiniband-diags read and print."""

from __future__ import annotations
