"""Write src/netloom/engines/_core.pyi from the compiled core."""

from __future__ import annotations

from pathlib import Path

from nanobind.stubgen import StubGen

from netloom.engines import _core  # noqa: TID251  (the stub describes it)

generator = StubGen(_core)
generator.put(_core)
Path(__file__).parents[1].joinpath("src/netloom/engines/_core.pyi").write_text(generator.get())
