"""What a GPU holds in a training step, predicted against measured."""

from __future__ import annotations
