"""What is wrong with a scenario, said so that a person can put it right."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, get_args, get_origin

from netloom.errors import Problem, SpecError, Where
from netloom.spec.nodes import DocumentNode, TextPosition, problem_at, shown_key
from netloom.spec.quantity import DimensionOf
from netloom.spec.strict import Strict
from netloom.units import Dimension, format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import ValidationError
    from pydantic.fields import FieldInfo
    from pydantic_core import ErrorDetails

__all__ = ["did_you_mean", "explain", "in_order", "plainly", "refusal"]

_GROUPED_INTEGER: Final = re.compile(r"[0-9]{1,3}([_, ']?[0-9]{3})*|[0-9]+")
_EXACT: Final = 2.0**53  # above, a float is not the whole number that was written

_Context: TypeAlias = Mapping[str, Any]


def refusal(name: str, problems: Iterable[Problem]) -> SpecError:
    """Return the error that lists *problems* of the file *name*; see :func:`in_order`."""
    return SpecError.of(*in_order(name, problems))


def in_order(name: str, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return *problems* in the order of the file.

    Args:
        name: The file they were found in; empty when there is none.
        problems: What is wrong; of several about one value only the first is kept.
    """
    first: dict[Where, Problem] = {}
    for problem in problems:
        first.setdefault(problem.where, problem)
    ordered = sorted(first.values(), key=lambda one: (one.where.line, one.where.column))
    return tuple(replace(one, where=_in_file(name, one.where)) for one in ordered)


def _in_file(name: str, where: Where) -> Where:
    return replace(where, file=name or ("" if where.key else "scenario"))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a remedy for a *word* that is not among the *known*: the closest, or all of them."""
    known = list(known)
    by_lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    if close:
        return f"did you mean {by_lower[close[0]]!r}?"
    return f"choose one of {', '.join(known)}"


def explain(error: ValidationError, root: DocumentNode, model: type[Strict]) -> list[Problem]:
    """Return the problems pydantic found in *root*, each with its field, place and remedy."""
    return [
        _problem(detail, root, model)
        for detail in error.errors(include_url=False)
        if not _is_echo(detail)
    ]


def _is_echo(detail: ErrorDetails) -> bool:
    """Whether pydantic calls a list too short only because its items were wrong."""
    if detail["type"] != "too_short":
        return False
    num_needed: int = detail["ctx"]["min_length"]
    return len(detail["input"]) >= num_needed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spot:
    """What is known of a place in the document.

    Attributes:
        path: The keys to it, as a file has them.
        node: The value there; None when it is missing.
        above: The innermost mapping or list around it.
        models: What may stand there, when it is a mapping.
        field: The field it is the value of.
        known: The keys known beside it.
    """

    path: tuple[str | int, ...]
    node: DocumentNode | None
    above: DocumentNode
    models: tuple[type[Strict], ...]
    field: FieldInfo | None = None
    known: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        return self.node.written if self.node else "null"

    @property
    def dimension(self) -> Dimension | None:
        marks = _metadata(self.field) if self.field else iter(())
        return next((mark.dimension for mark in marks if isinstance(mark, DimensionOf)), None)

    def step(self, key: str | int) -> _Spot:
        """Return the spot one element of pydantic's location further on."""
        tagged = [model for model in self.models if _tag(model) == key]
        if len(self.models) > 1 and tagged:
            return _Spot(
                path=self.path,
                node=self.node,
                above=self.above,
                models=(*tagged,),
                field=self.field,
            )
        fields = _fields(self.models)
        field = fields.get(key) if isinstance(key, str) else self.field
        # The items of a list are of the models of its field.
        inside = tuple(_models(field.annotation)) if field else ()
        models = inside if isinstance(key, str) else self.models
        node = self.node.child(key) if self.node else None
        return _Spot(
            path=(*self.path, key),
            node=node,
            above=self.node or self.above,
            models=models,
            field=field,
            known=tuple(fields),
        )


def _fields(models: tuple[type[Strict], ...]) -> dict[str, FieldInfo]:
    return {
        field.alias or name: field for model in models for name, field in model.model_fields.items()
    }


def _tag(model: type[Strict]) -> str | None:
    kind = model.model_fields.get("kind")
    return kind.default if kind else None


def _models(annotation: object) -> Iterator[type[Strict]]:
    if isinstance(annotation, type) and issubclass(annotation, Strict):
        yield from annotation.alternatives()
    for part in get_args(annotation):
        yield from _models(part)


def _metadata(field: FieldInfo) -> Iterator[object]:
    yield from field.metadata
    for part in get_args(field.annotation):
        if get_origin(part) is Annotated:
            yield from part.__metadata__


def _problem(detail: ErrorDetails, root: DocumentNode, model: type[Strict]) -> Problem:
    spot = _Spot(path=(), node=root, above=root, models=(model,))
    for key in detail["loc"]:
        spot = spot.step(key)
    kind = detail["type"]
    if kind == "union_tag_invalid":
        spot = _into_kind(spot)
    context = detail.get("ctx", {})
    say = _REMEDIES.get(kind)
    text = say(spot, context) if say else f"{spot.said} is refused: {detail['msg']}"
    return problem_at(_place(spot, kind), _dotted(spot.path), text)


def _into_kind(spot: _Spot) -> _Spot:
    node = spot.node.child("kind") if spot.node else None
    return _Spot(
        path=(*spot.path, "kind"), node=node, above=spot.above, models=spot.models, field=spot.field
    )


def _dotted(path: tuple[str | int, ...]) -> str:
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{shown_key(step)}"
    return text.removeprefix(".")


def _place(spot: _Spot, kind: str) -> TextPosition | None:
    if spot.node is None:
        return spot.above.key_place or spot.above.place
    if kind == "extra_forbidden" or spot.node.value is None or isinstance(spot.node.value, dict):
        return spot.node.key_place or spot.node.place
    return spot.node.place


def _missing(spot: _Spot, _: _Context) -> str:
    meaning = spot.field.description if spot.field else None
    return f"missing; add it ({_lowered(meaning)})" if meaning else "missing; add it"


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _unknown_key(spot: _Spot, _: _Context) -> str:
    return f"unknown key; {did_you_mean(str(spot.path[-1]), spot.known)}"


def _of_type(wanted: str, hint: Callable[[object], str]) -> Callable[[_Spot, _Context], str]:
    def say(spot: _Spot, _: _Context) -> str:
        value = spot.node.value if spot.node else None
        if value is None:
            return f"has no value; it must be {wanted}{_or_absent(spot)}"
        found = "stands here" if isinstance(value, (dict, tuple)) else f"is {_kind(value)}"
        return f"{spot.said} {found}; it must be {wanted}{hint(value)}"

    return say


def _or_absent(spot: _Spot) -> str:
    needed = spot.field is None or spot.field.is_required()
    return "" if needed else ", or leave the key out"


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, str):
        return "text"
    return "a number"


def _integer_hint(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return f"; write {value:.0f}"
    if isinstance(value, str) and _GROUPED_INTEGER.fullmatch(value):
        return f"; write {re.sub('[^0-9]', '', value)}"
    return ""


def _number_hint(value: object) -> str:
    if not isinstance(value, str):
        return ""
    try:
        number = float(value)
    except ValueError:
        return ""
    return f"; write {number:g} without quotes"


def _boolean_hint(value: object) -> str:
    words = {"yes": "true", "on": "true", "no": "false", "off": "false", "1": "true", "0": "false"}
    meant = words.get(str(value).lower())
    return f"; write {meant}" if meant else ""


def _text_hint(value: object) -> str:
    return "" if isinstance(value, (dict, tuple)) else "; put it in quotes if it is a name"


def _mapping_hint(_: object) -> str:
    return ""


def _bounded(verdict: str, bound: str, key: str) -> Callable[[_Spot, _Context], str]:
    def say(spot: _Spot, context: _Context) -> str:
        limit = context[key]
        dimension = spot.dimension if limit else None  # 0 needs no unit
        shown = format_quantity(limit, dimension) if dimension else repr(limit)
        return f"{spot.said} is {verdict}; it must be {bound} {shown.removesuffix('.0')}"

    return say


def _choice(spot: _Spot, context: _Context) -> str:
    expected = str(context.get("expected_tags") or context["expected"])
    known = re.findall(r"'([^']*)'", expected) or [expected]
    word = spot.node.value if spot.node else None
    return f"{spot.said} is not known here; {did_you_mean(str(word), known)}"


def _no_kind(spot: _Spot, _: _Context) -> str:
    return f"has no 'kind'; choose one of {', '.join(_tag(model) or '' for model in spot.models)}"


def _not_finite(spot: _Spot, _: _Context) -> str:
    return f"{spot.said} is not a finite number; write one"


def _empty_text(spot: _Spot, _: _Context) -> str:
    return f"is empty; write a name{_or_absent(spot)}"


def _long_text(_: _Spot, context: _Context) -> str:
    return f"is too long; write at most {context['max_length']} characters"


def _few_items(spot: _Spot, context: _Context) -> str:
    return f"is empty; list at least {context['min_length']}{_or_absent(spot)}"


def _many_items(spot: _Spot, context: _Context) -> str:
    items = spot.node.value if spot.node else ()
    num_items = len(items) if isinstance(items, tuple) else 0
    return f"lists {num_items}; list at most {context['max_length']}"


def _own_words(spot: _Spot, context: _Context) -> str:
    text = str(context["error"])
    value = spot.node.value if spot.node else None
    return text if spot.dimension is None or isinstance(value, str) else f"{spot.said} {text}"


_REMEDIES: Final[dict[str, Callable[[_Spot, _Context], str]]] = {
    "missing": _missing,
    "extra_forbidden": _unknown_key,
    "int_type": _of_type("a whole number", _integer_hint),
    "float_type": _of_type("a number", _number_hint),
    "bool_type": _of_type("true or false", _boolean_hint),
    "string_type": _of_type("text", _text_hint),
    "tuple_type": _of_type("a list, such as [a, b]", _mapping_hint),
    "model_type": _of_type("a mapping of keys to values", _mapping_hint),
    "model_attributes_type": _of_type("a mapping with a 'kind'", _mapping_hint),
    "greater_than": _bounded("too small", "more than", "gt"),
    "greater_than_equal": _bounded("too small", "at least", "ge"),
    "less_than": _bounded("too large", "less than", "lt"),
    "less_than_equal": _bounded("too large", "at most", "le"),
    "literal_error": _choice,
    "union_tag_invalid": _choice,
    "union_tag_not_found": _no_kind,
    "finite_number": _not_finite,
    "string_too_short": _empty_text,
    "string_too_long": _long_text,
    "too_short": _few_items,
    "too_long": _many_items,
    "value_error": _own_words,
}

_LIMITS: Final = {
    "greater_than": "more than {gt:,.12g}",
    "greater_than_equal": "at least {ge:,.12g}",
    "less_than": "less than {lt:,.12g}",
    "less_than_equal": "at most {le:,.12g}",
    "finite_number": "a finite number",
}


def plainly(error: ErrorDetails) -> str:
    """Return what pydantic finds wrong with a value, limits in our words."""
    limit = _LIMITS.get(error["type"])
    if limit is None:
        return error["msg"].removeprefix("Value error, ")
    return "it must be " + limit.format(**error.get("ctx", {}))
