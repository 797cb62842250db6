"""What happens to traffic, flow by flow or packet by packet?"""

from __future__ import annotations

from netloom.study.simulate.choices import Choices
from netloom.study.simulate.run import simulate
from netloom.study.simulate.simulation import Simulation

__all__ = ["Choices", "Simulation", "simulate"]
