"""The formats that describe a training job."""

from __future__ import annotations
