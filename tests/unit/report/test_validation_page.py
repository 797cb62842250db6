from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def test_every_row_that_can_be_predicted_is_a_point(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["validate", "gpu-steps", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    found = re.search(r"const plots = (\{.*?\});\n", text)
    assert found is not None
    figure = json.loads(found[1])["gpu-steps"]
    points = sum(len(trace["x"]) for trace in figure["data"] if trace["mode"] == "markers")
    assert points == 3
    assert "src=" not in text.split("<script>")[0]
