"""Labs: a scenario's fabric, live on this machine, put together from the adapters beside it."""

from __future__ import annotations
