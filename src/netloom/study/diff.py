"""What differs between two scenarios or two results, and what it does to the step."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from netloom.errors import NetloomError, SpecError
from netloom.results.condition import children
from netloom.results.table import Table
from netloom.results.tabular import Tabular
from netloom.spec.files import read_text
from netloom.spec.load import load
from netloom.spec.scenario import Scenario
from netloom.study.inputs import catalog_of
from netloom.study.predict.prediction import predict
from netloom.study.serving.inference import infer

if TYPE_CHECKING:
    from netloom.parts.load import Catalog

__all__ = ["Diff", "ValueDifference", "diff"]

Value: TypeAlias = str | float | int | bool | None
Source: TypeAlias = Scenario | str | os.PathLike[str] | Mapping[str, Any]

MAX_BYTES: Final = 1 << 30
ENVELOPE: Final = frozenset({"netloom", "command", "schema"})
STEP: Final = ("step_time_s", "mfu", "tokens_per_s", "communication_share", "exposed_share")
SERVICE: Final = ("time_to_first_token_s", "time_per_token_s", "tokens_per_s_per_gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueDifference:
    """One value that is not the same.

    Attributes:
        field: Its path, such as ``cluster.fabric.technology``.
        a: In the first; None where it is missing.
        b: In the second.
        change: Of two numbers, the second over the first, less 1; else None.
    """

    field: str
    a: Value
    b: Value
    change: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff(Tabular):
    """What differs between two scenarios or two results.

    Attributes:
        kind: What was compared.
        differences: Every value that is not the same.
        effects: Of scenarios, the predicted headline numbers of both; of results, none.
        refused: Why a scenario could not be predicted, by ``a`` and ``b``.
    """

    kind: Literal["scenarios", "results"]
    differences: tuple[ValueDifference, ...]
    effects: tuple[ValueDifference, ...] = ()
    refused: Mapping[str, str]

    def table(self) -> Table:
        """Return a row for each difference and effect, values as text."""
        rows = [*self.differences, *self.effects]
        return Table.from_rows(
            {"field": one.field, "a": _text(one.a), "b": _text(one.b), "change": one.change}
            for one in rows
        )

    def to_json(self) -> dict[str, Any]:
        """Return the stable keys that docs/json.md documents."""
        return {
            "kind": self.kind,
            "differences": [asdict(one) for one in self.differences],
            "effects": [asdict(one) for one in self.effects],
            "refused": dict(self.refused),
        }


def diff(a: Source, b: Source, catalog: Catalog | None = None) -> Diff:
    """Return what differs between two scenarios, or between two saved results.

    >>> import netloom as nl
    >>> one = nl.example("gpt3-175b-1k")
    >>> found = nl.diff(one, one.model_copy(update={"name": "another"}))
    >>> [difference.field for difference in found.differences]
    ['name']

    Args:
        a: A scenario, its file, a file that ``--json`` printed, or what such a file holds.
        b: The same of the other; both scenarios, or both results.
        catalog: The parts of both; default: the shipped ones and each scenario's own.

    Raises:
        SpecError: a file cannot be read, or one is a scenario and the other a result.
    """
    one, other = _read(a), _read(b)
    if isinstance(one, Scenario) and isinstance(other, Scenario):
        return _of_scenarios(one, other, catalog)
    if isinstance(one, Scenario) or isinstance(other, Scenario):
        raise SpecError(
            key="diff", what="one is a scenario, the other a result", remedy="give two of a kind"
        )
    return Diff(kind="results", differences=tuple(_differences(one, other)), refused={})


def _read(source: Source) -> Scenario | Mapping[str, Any]:
    if isinstance(source, Scenario):
        return source
    if isinstance(source, Mapping):
        return _result(source) if source.keys() >= ENVELOPE else load(source)
    text = read_text(source, max_bytes=MAX_BYTES, wanted="a scenario, or a result in JSON")
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return load(source)  # YAML
    is_result = isinstance(held, dict) and held.keys() >= ENVELOPE
    return _result(held) if is_result else load(source)


def _result(held: Mapping[str, Any]) -> Mapping[str, Any]:
    if "result" not in held:
        raise SpecError(
            key="diff",
            what=f"{held['command']} ended in an error",
            remedy="give the output of a run that worked",
        )
    result: Mapping[str, Any] = held["result"]
    return result


def _of_scenarios(one: Scenario, other: Scenario, catalog: Catalog | None) -> Diff:
    plain = [each.model_dump(mode="json", by_alias=True) for each in (one, other)]
    refused: dict[str, str] = {}
    found = [_predicted(each, catalog, name, refused) for name, each in (("a", one), ("b", other))]
    effects = [
        _difference(key, found[0].get(key), found[1].get(key))
        for key in (*STEP, *SERVICE)
        if key in found[0] or key in found[1]
    ]
    return Diff(
        kind="scenarios",
        differences=tuple(_differences(*plain)),
        effects=tuple(effects),
        refused=refused,
    )


def _predicted(
    scenario: Scenario, catalog: Catalog | None, name: str, refused: dict[str, str]
) -> dict[str, float]:
    """Return the headline numbers of a scenario; why not goes to *refused*."""
    found: dict[str, float] = {}
    given = scenario.job_given
    try:
        parts = catalog or catalog_of(scenario)
        if given is not None and (scenario.serving is None or given.training is not None):
            step = predict(scenario, parts).to_json()
            found |= {key: step[key] for key in STEP}
        if scenario.serving is not None:
            service = infer(scenario, parts).to_json()
            found |= {key: service[key] for key in SERVICE}
    except NetloomError as error:
        refused[name] = str(error)
    return found


def _differences(one: Any, other: Any) -> Iterator[ValueDifference]:
    a, b = dict(_leaves(one)), dict(_leaves(other))
    for field in {**a, **b}:
        if a.get(field) != b.get(field) or (field in a) != (field in b):
            yield _difference(field, a.get(field), b.get(field))


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Value]]:
    """Yield every plain value in *value* with its path; objects in lists go by their names."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        named = children(value)
        own = {key: item for key, item in named.items() if not key.isdigit()}
        for key, item in (own if len(own) == len(value) else dict(enumerate(value))).items():
            yield from _leaves(item, f"{path}[{key}]")
    else:
        yield path, value


def _difference(field: str, a: Value, b: Value) -> ValueDifference:
    change = b / a - 1 if _is_number(a) and _is_number(b) and a else None  # type: ignore[operator]
    return ValueDifference(field=field, a=a, b=b, change=change)


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _text(value: Value) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
