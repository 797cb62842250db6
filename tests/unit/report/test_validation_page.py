from __future__ import annotations

import re
from typing import TYPE_CHECKING

from netloom.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def test_every_row_that_can_be_predicted_is_a_point(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["validate", "gpu-steps", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    (figure,) = re.findall(r'<figure class="card" id="gpu-steps".*?</figure>', text, re.DOTALL)
    wide, narrow = re.findall(r'<svg class="chart (?:wide|narrow)".*?</svg>', figure, re.DOTALL)
    assert wide.count("<title>inside, ") == narrow.count("<title>inside, ") == 3
    assert figure.count('<th scope="row">inside, ') == 3
