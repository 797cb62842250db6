"""How fast does a cluster serve a model?"""

from __future__ import annotations

from netloom.study.serving.inference import Inference, infer

__all__ = ["Inference", "infer"]
