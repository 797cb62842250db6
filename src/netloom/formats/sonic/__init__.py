"""SONiC's config_db.json and its YANG models."""

from __future__ import annotations
