"""The highest published MFU by generation."""

from __future__ import annotations

import pytest

from netloom.parts.load import load_catalog
from netloom.step.efficiency import efficiency_validity, highest_of
from netloom.validated.steps import highest_mfu

pytestmark = pytest.mark.validation

CATALOG = load_catalog()


def test_megascale_published_nearly_the_same_share_itself() -> None:
    # Row megascale-0006 is 63.5 % by MegaScale's own count (arXiv:2402.15627).
    assert highest_mfu()["ampere", False].mfu == pytest.approx(0.635, abs=0.001)


def test_a_step_above_the_highest_is_in_doubt_with_number_and_source() -> None:
    gpu = CATALOG.gpu(CATALOG.node("dgx-a100").gpu)
    assert efficiency_validity(gpu, "bf16", mfu=0.634).inside
    (doubt,) = efficiency_validity(gpu, "bf16", mfu=0.695).doubts
    assert "69.5% MFU" in doubt
    assert "63.4%" in doubt
    assert "arXiv:2402.15627" in doubt


def test_where_nothing_was_measured_nothing_is_doubted() -> None:
    gpu = CATALOG.gpu("B200-SXM")
    assert highest_of(gpu, "fp8") is None
    assert efficiency_validity(gpu, "fp8", mfu=0.9).inside
