"""How long does a step take?"""

from __future__ import annotations

from netloom.study.predict.engines import engine_named
from netloom.study.predict.prediction import Prediction, predict, step_on

__all__ = ["Prediction", "engine_named", "predict", "step_on"]
