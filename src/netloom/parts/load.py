"""Read the catalogue: the shipped TOML files, then the user's own over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from netloom.errors import CatalogError, at
from netloom.parts import merge, read
from netloom.parts.line import CoherentOptics, EdgeSwitch, Fibre, LineSite
from netloom.parts.parts import (
    CableType,
    Gpu,
    Model,
    Nic,
    Node,
    Part,
    ScaleUp,
    Switch,
    Technology,
    Transceiver,
)
from netloom.parts.shipped import SOURCES, shipped_tables
from netloom.provenance import Source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["KINDS", "Catalog", "check", "load_catalog"]

P = TypeVar("P", bound=Part)

KINDS: Final[Mapping[str, type[Part]]] = MappingProxyType(
    {
        "gpus": Gpu,
        "scale_ups": ScaleUp,
        "nodes": Node,
        "nics": Nic,
        "switches": Switch,
        "transceivers": Transceiver,
        "cables": CableType,
        "models": Model,
        "technologies": Technology,
        "fibres": Fibre,
        "line_sites": LineSite,
        "coherent_optics": CoherentOptics,
        "edge_switches": EdgeSwitch,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """Every known part, by kind and name."""

    gpus: Mapping[str, Gpu]
    scale_ups: Mapping[str, ScaleUp]
    nodes: Mapping[str, Node]
    nics: Mapping[str, Nic]
    switches: Mapping[str, Switch]
    transceivers: Mapping[str, Transceiver]
    cables: Mapping[str, CableType]
    models: Mapping[str, Model]
    technologies: Mapping[str, Technology]
    fibres: Mapping[str, Fibre]
    line_sites: Mapping[str, LineSite]
    coherent_optics: Mapping[str, CoherentOptics]
    edge_switches: Mapping[str, EdgeSwitch]

    def gpu(self, name: str) -> Gpu:
        """Return the GPU called *name*, in any case; CatalogError when there is none."""
        return _find(self.gpus, name, kind="gpus", one="GPU")

    def scale_up(self, name: str) -> ScaleUp:
        """Return the scale-up network called *name*, in any case."""
        return _find(self.scale_ups, name, kind="scale_ups", one="scale-up network")

    def node(self, name: str) -> Node:
        """Return the node called *name*, in any case."""
        return _find(self.nodes, name, kind="nodes", one="node")

    def nic(self, name: str) -> Nic:
        """Return the NIC called *name*, in any case."""
        return _find(self.nics, name, kind="nics", one="NIC")

    def switch(self, name: str) -> Switch:
        """Return the switch called *name*, in any case."""
        return _find(self.switches, name, kind="switches", one="switch")

    def transceiver(self, name: str) -> Transceiver:
        """Return the transceiver called *name*, in any case."""
        return _find(self.transceivers, name, kind="transceivers", one="transceiver")

    def cable(self, name: str) -> CableType:
        """Return the cable called *name*, in any case."""
        return _find(self.cables, name, kind="cables", one="cable")

    def model(self, name: str) -> Model:
        """Return the model called *name*, in any case."""
        return _find(self.models, name, kind="models", one="model")

    def technology(self, name: str) -> Technology:
        """Return the technology called *name*, in any case."""
        return _find(self.technologies, name, kind="technologies", one="technology")

    def fibre(self, name: str) -> Fibre:
        """Return the fibre called *name*, in any case."""
        return _find(self.fibres, name, kind="fibres", one="fibre")

    def line_site(self, name: str) -> LineSite:
        """Return the amplifier or regenerator called *name*, in any case."""
        return _find(self.line_sites, name, kind="line_sites", one="line site")

    def optics(self, name: str) -> CoherentOptics:
        """Return the coherent optics called *name*, in any case."""
        return _find(self.coherent_optics, name, kind="coherent_optics", one="coherent optics")

    def edge_switch(self, name: str) -> EdgeSwitch:
        """Return the edge switch called *name*, in any case."""
        return _find(self.edge_switches, name, kind="edge_switches", one="edge switch")

    def parts(self, kind: str) -> Mapping[str, Part]:
        """Return all parts of *kind*, one of KINDS, by name."""
        assert kind in KINDS, kind
        parts: Mapping[str, Part] = getattr(self, kind)
        return parts

    def search(self, name: str) -> list[Part]:
        """Return the parts of any kind called *name*, in any case; empty when there are none."""
        wanted = name.casefold()
        return [
            named[known]
            for named in map(self.parts, KINDS)
            for known in named
            if known.casefold() == wanted
        ]


def load_catalog(own: Path | None = None) -> Catalog:
    """Return the shipped catalogue with the parts of *own* added or laid over it.

    Raises:
        CatalogError: a file is not TOML, a key is unknown, a number has no unit, or a part
            names another that does not exist.
    """
    return _shipped() if own is None else _overlaid(own)


@cache
def _shipped() -> Catalog:
    return Catalog(**{kind: _ShippedParts(kind) for kind in KINDS})


class _ShippedParts(Mapping[str, Any]):
    """The shipped parts of one kind; each is read when it is asked for the first time.

    A command needs a handful of some 270. That all of them can be read, and what they name exists,
    is tested (:func:`check`).
    """

    __slots__ = ("_known", "kind")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._known: dict[str, Part] = {}

    def __getitem__(self, name: str) -> Part:
        if name not in self._known:
            table = shipped_tables(self.kind)[name]
            where = f"{self.kind}.toml"
            self._known[name] = read.part(KINDS[self.kind], name, table, _SOURCES, where=where)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(shipped_tables(self.kind))

    def __contains__(self, name: object) -> bool:
        return name in shipped_tables(self.kind)

    def __len__(self) -> int:
        return len(shipped_tables(self.kind))


class _ShippedSources(Mapping[str, Source]):
    """The shipped sources; each is read when it is asked for the first time."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, Source] = {}

    def __getitem__(self, name: str) -> Source:
        if name not in self._known:
            one = {name: shipped_tables(SOURCES)[name]}
            self._known |= read.sources(one, {}, where="sources.toml")
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(shipped_tables(SOURCES))

    def __contains__(self, name: object) -> bool:
        return name in shipped_tables(SOURCES)

    def __len__(self) -> int:
        return len(shipped_tables(SOURCES))


_SOURCES: Final = _ShippedSources()


def _overlaid(own: Path) -> Catalog:
    tables = read.own_file(own, KINDS)
    shipped = _shipped()
    registry = read.sources(tables.pop("sources", {}), _SOURCES, where=own.name)
    voice = merge.Voice(file=own.name, price_source=tables.pop("price_source", None))
    parts = {kind: dict(shipped.parts(kind)) for kind in KINDS}
    for kind, named in tables.items():
        for name, table in named.items():
            known = _canonical(shipped.parts(kind), name)
            below = shipped_tables(kind).get(known, {})
            laid = merge.lay_over(below, table, registry=registry, voice=voice)
            if isinstance(laid.table.get("calibration"), str):
                laid.table["calibration"] = str(own.parent / laid.table["calibration"])
            with at(file=str(own)):
                parts[kind][known] = read.part(
                    KINDS[kind], known, laid.table, laid.registry, where=f"[{kind}.{name}]"
                )
    with at(file=str(own)):
        return _checked(parts)


def _canonical(parts: Mapping[str, Part], name: str) -> str:
    return next((known for known in parts if known.casefold() == name.casefold()), name)


def _checked(parts: dict[str, dict[str, Any]]) -> Catalog:
    catalog = Catalog(**{kind: MappingProxyType(named) for kind, named in parts.items()})
    check(catalog)
    return catalog


def check(catalog: Catalog) -> None:
    """Raise unless every part can be read, and what nodes and technologies name exists.

    Raises:
        CatalogError: a part is wrong, or names another that does not exist.
    """
    for node in catalog.nodes.values():
        table = f"[nodes.{node.name}]"
        _refer(catalog.gpus, node.gpu, entry=f"{table} gpu", kind="gpus")
        _refer(catalog.nics, node.nic, entry=f"{table} nic", kind="nics")
        _refer(catalog.scale_ups, node.scale_up, entry=f"{table} scale_up", kind="scale_ups")
    for technology in catalog.technologies.values():
        table = f"[technologies.{technology.name}]"
        _refer(catalog.nics, technology.nic, entry=f"{table} nic", kind="nics")
        _refer(catalog.switches, technology.switch, entry=f"{table} switch", kind="switches")
        _check_ports(catalog, technology)


def _refer(parts: Mapping[str, Part], name: str, *, entry: str, kind: str) -> None:
    if name not in parts:
        raise CatalogError(what=f"{entry} = {name!r}: {_no_such(parts, name, kind=kind)}")


def _check_ports(catalog: Catalog, technology: Technology) -> None:
    switch = catalog.switches[technology.switch]
    if switch.radix(technology.rate_bps) == 0:
        rates = ", ".join(f"{mode.rate_bps / 1e9:g}Gbps" for mode in switch.modes)
        raise CatalogError(
            what=(
                f"[technologies.{technology.name}] switch = {switch.name!r}: it has no ports of "
                f"{technology.rate_bps / 1e9:g}Gbps"
            ),
            remedy=f"its modes are {rates}",
        )


def _find(parts: Mapping[str, P], name: str, *, kind: str, one: str) -> P:
    wanted = name.casefold()
    for known in parts:
        if known.casefold() == wanted:
            return parts[known]
    raise CatalogError(what=f"{name!r}: no such {one}", remedy=_no_such(parts, name, kind=kind))


def _no_such(parts: Mapping[str, Part], name: str, *, kind: str) -> str:
    by_folded = {known.casefold(): known for known in parts}
    close = [
        by_folded[hit] for hit in get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.5)
    ]
    hint = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    return f"{hint}'netloom catalog {kind.replace('_', '-')}' lists them all"
