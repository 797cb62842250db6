"""gNMI: OpenConfig's paths, and SONiC's own."""

from __future__ import annotations
