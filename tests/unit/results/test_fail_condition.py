from __future__ import annotations

from typing import Any

import pytest

from netloom.errors import SpecError
from netloom.results.condition import parse_condition

RESULT: dict[str, Any] = {
    "step_time_s": 4.5,
    "complete": True,
    "capex_usd": None,
    "technology": "tcp-400g",
    "validity": {"inside": False, "doubts": ["a", "b"]},
    "technologies": [
        {"technology": "rocev2-400g", "goodput": 0.9, "lossless": {"headroom_bytes": 7}},
        {"technology": "tcp-400g", "goodput": 0.8, "lossless": {"headroom_bytes": 0}},
    ],
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("step_time_s>4.5", False),
        ("step_time_s >= 4.5", True),
        ("step_time_s<4.6", True),
        ("step_time_s<=4.4", False),
        ("step_time_s==4.5", True),
        ("step_time_s!=4.5", False),
        ("complete==true", True),
        ("complete!=TRUE", False),
        ("technology==tcp-400g", True),
        ("technology!='tcp-400g'", False),
        ("capex_usd>1e9", True),  # not known: the limit is not kept
        ("capex_usd<1e9", True),
        ("capex_usd==null", True),
        ("validity.inside==false", True),
        ("validity.doubts[1]==b", True),
        ("technologies[rocev2-400g].goodput<0.85", False),
        ("technologies[tcp-400g].goodput<0.85", True),
        ("technologies[1].lossless.headroom_bytes>0", False),
    ],
)
def test_a_condition_holds_as_written(text: str, *, holds: bool) -> None:
    assert parse_condition(text).holds(RESULT) is holds


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("step>6", "there is no 'step'; there is step_time_s, complete,"),
        ("technologies[roce].goodput>1", "there is no 'roce'; there is rocev2-400g, tcp-400g, 0"),
        ("validity.outside==true", "there is no 'outside'; there is inside, doubts"),
        ("step_time_s.mean>1", "there is no 'mean'; there is no field"),
        ("technologies>1", "name one in it: rocev2-400g, tcp-400g"),
        ("technology>1", "the field holds no number; use == or !="),
        ("complete>0", "the field holds no number"),
    ],
)
def test_a_field_that_is_not_there_or_holds_no_number_is_refused(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=r"^--fail-if: ") as caught:
        parse_condition(text).holds(RESULT)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "step_time_s", ">6", "a..b>1", "a[>1", "a>", "a>b", "a=>1", "a>nan"]
)
def test_what_is_no_condition_is_refused_before_anything_runs(text: str) -> None:
    with pytest.raises(SpecError, match=r"^--fail-if: "):
        parse_condition(text)
