"""The part of one's own catalogue file that a calibration writes, and nothing else of it.

A file may hold parts by hand and of several calibrations. Each calibration stands between two lines
that name it; running it again replaces what stands between them.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from netloom.errors import CatalogError
from netloom.spec.strict import written_name
from netloom.units import RATE, SHARE, SIZE, TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.parts.parts import Technology
    from netloom.study.calibrate.network import NetworkFit

__all__ = ["gpu_section", "network_section", "with_section", "without_section"]

_BEGIN: Final = "# netloom calibrate {}: this part is replaced when it runs again"
_END: Final = "# end of netloom calibrate {}"
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_DIGITS: Final = 6
_UNITS: Final = {SHARE.name: "%", TIME.name: "us", RATE.name: "Gbps", SIZE.name: "B"}


def with_section(text: str, name: str, section: str, *, file: str) -> str:
    """Return *text* with the calibration *name* replaced by *section*, or added at the end.

    Raises:
        CatalogError: the file has these parts by hand already.
    """
    before, after = _around(text, name)
    whole = "\n\n".join(
        part
        for part in (
            before.rstrip(),
            f"{_BEGIN.format(name)}\n{section.strip()}\n{_END.format(name)}",
        )
        if part
    )
    whole += "\n" + (f"\n{after.lstrip()}" if after.strip() else "")
    try:
        tomllib.loads(whole)
    except tomllib.TOMLDecodeError as error:
        raise CatalogError(
            file=file,
            what=f"has a part that the calibration of {name} writes, or is not TOML ({error})",
            remedy="take that part out, or name another file",
        ) from error
    return whole


def without_section(text: str, name: str) -> str:
    """Return *text* without the calibration *name*."""
    before, after = _around(text, name)
    return before + after


def _around(text: str, name: str) -> tuple[str, str]:
    begin, end = _BEGIN.format(name), _END.format(name)
    before, found, rest = text.partition(begin)
    if not found:
        return text, ""
    _, ended, after = rest.partition(end)
    return before, after.removeprefix("\n") if ended else ""


def gpu_section(gpu: str, calibration: str, source: str) -> str:
    """Return the section of a GPU whose operators were timed into the file *calibration*."""
    name = f"calibrate-gpu-{gpu}"
    return "\n".join(
        (
            *_source(name, f"netloom calibrate gpu: {source}"),
            _head("gpus", gpu),
            f"calibration = {_text(calibration)}",
            f"sources = {{ calibration = {_text(name)} }}",
        )
    )


def network_section(fit: NetworkFit, shipped: Technology, files: Sequence[str]) -> str:
    """Return the section of a network, every number with the logs as its source."""
    name = f"calibrate-network-{fit.node.name}-{fit.technology.name}"
    keys = {one.key for one in fit.constants}
    lines = [*_source(name, f"netloom calibrate network: {', '.join(files)}")]
    sourced = f"sources = {{ {_text('*')} = {_text(name)} }}"
    if "nic_share" in keys:
        assert fit.node.nic_share is not None, fit.node
        share = _quantity(fit.node.nic_share, SHARE)
        lines += [_head("nodes", fit.node.name), f"nic_share = {share}", sourced, ""]
    own = _technology(fit.technology, shipped, keys)
    if own:
        lines += [_head("technologies", fit.technology.name), *own, sourced]
    return "\n".join(lines)


def _technology(technology: Technology, shipped: Technology, keys: set[str]) -> list[str]:
    lines = []
    if "host_rate" in keys and technology.host_rate_bps is not None:
        lines.append(f"host_rate = {_quantity(technology.host_rate_bps, RATE)}")
    if "latency" in keys:
        changed = {
            name: value
            for name, value in technology.latency
            if value != getattr(shipped.latency, name)
        }
        lines.append(f"latency = {_inline({n: _quantity(v, TIME) for n, v in changed.items()})}")
    costs = technology.collectives
    if costs is None:
        return lines
    for name, value in costs:
        key = f"collectives.{written_name(name)}"
        if key in keys and name == "ring_hops":
            lines += [f"{key} = [", *(_hop(hop.size_bytes, hop.time_s) for hop in value), "]"]
        elif key in keys:
            lines.append(f"{key} = {_quantity(value, _dimension(name))}")
    return lines


def _hop(size_bytes: float, time_s: float) -> str:
    size, time = _quantity(size_bytes, SIZE), _quantity(time_s, TIME)
    return f"    {{ size = {size}, time = {time} }},"


def _dimension(name: str) -> Any:
    if name.endswith("_share"):
        return SHARE
    return RATE if name.endswith("_bps") else TIME


def _quantity(value: float, dimension: Any) -> str:
    """Return a quantity in the unit that people write it in, to six digits: more than logs give."""
    unit = _UNITS[dimension.name]
    if dimension is SIZE:
        unit = next(
            (one for one in ("GiB", "MiB", "KiB") if value % dimension.units[one] == 0), "B"
        )
    number = value / dimension.units[unit]
    whole = unit == "B" and number == round(number)
    return _text(f"{round(number)}{unit}" if whole else f"{number:.{_DIGITS}g}{unit}")


def _inline(table: Mapping[str, str]) -> str:
    inside = ", ".join(f"{written_name(name)} = {value}" for name, value in table.items())
    return f"{{ {inside} }}"


def _source(name: str, citation: str) -> tuple[str, ...]:
    return (
        _head("sources", name),
        f"citation = {_text(citation)}",
        'confidence = "measured"',
        "",
    )


def _head(kind: str, name: str) -> str:
    return f"[{kind}.{name if _BARE.fullmatch(name) else _text(name)}]"


def _text(value: str) -> str:
    """Return a basic string of TOML, whose escapes are JSON's; what no text holds becomes ``?``."""
    whole = value.encode("utf-8", "replace").decode("utf-8").replace("\x7f", "?")
    return json.dumps(whole, ensure_ascii=False)
