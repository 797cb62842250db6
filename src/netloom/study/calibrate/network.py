"""The constants of one's own network, from collectives that were measured on it.

Each constant is decided by the rows in which it matters, and by these alone: shares of a NIC's rate
by how much longer the largest messages take than smaller ones, hops of rings by what is left when
the bytes are taken off, hops of trees and partners of all-to-alls by the small messages. Where no
row decides a constant the shipped one stays, and :mod:`.open_constants` says what to measure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from netloom.engines.analytic.measured_rings import can_have_measured_hops
from netloom.engines.analytic.path import scale_out
from netloom.engines.analytic.tables import HW_US, PROTOCOLS, Algorithm, LinkKind, Protocol
from netloom.parts.parts import MeasuredCosts
from netloom.spec.strict import written_name
from netloom.study.calibrate.fitting import STEP, bisected, median_by_machine, solved
from netloom.study.calibrate.messages import with_latency, with_rate
from netloom.study.calibrate.ring_hops import ring_hops
from netloom.study.calibrate.series import (
    LARGE_BYTES,
    LARGE_MESSAGE_BYTES,
    MIN_ROWS,
    SMALL_BYTES,
    has_some_partners,
    is_long_enough,
    largest_of_each,
    size_of,
    without_repeats,
)
from netloom.study.calibrate.shipped import shipped_cost
from netloom.workload.collective import CollectiveKind
from netloom.workload.collective_entry import collective_entry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from netloom.fabric.network import Network
    from netloom.parts.parts import Node, Technology
    from netloom.study.calibrate.fitting import TimedCollective
    from netloom.study.calibrate.messages import TimedMessage
    from netloom.workload.collective import Collective

__all__ = ["FittedConstant", "NetworkFit", "fit_network"]

_KIB, _MIB = 2.0**10, 2.0**20
_OF_CHANNELS: Final = 1.25  # over what its channels allow, within which these explain a message
_FEW_RANKS: Final = 64  # to whom each partner takes the same
_MANY_RANKS: Final = 128
_DECISIVE: Final = 0.25  # share of a row's time that a constant must make up to be read off it
_START_S: Final = 10e-6  # where the search for a time begins
_ASKED_BYTES: Final = 64 * _KIB  # passed on in a step: more than is sent unasked anywhere
_LL, _SIMPLE = PROTOCOLS.index(Protocol.LL), PROTOCOLS.index(Protocol.SIMPLE)
_LEAST_NIC_SHARE: Final = 0.5  # below, a tree is held by its channels and not by the NICs
_MAX_SHARE: Final = 2.0  # over the rate of rings


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedConstant:
    """One constant, read off one's own rows.

    Attributes:
        key: As a file of parts writes it: ``nic_share``, ``collectives.hop``.
        kind: Of the part that has it: ``nodes`` or ``technologies``.
        part: That part's name.
        value: In base units; of a table, the value of its largest entry.
        shipped: What netloom ships; None where it has none.
        num_rows: Measured rows that decided it.
        sizes: The smallest and the largest message among them, in bytes.
    """

    key: str
    kind: str
    part: str
    value: float
    shipped: float | None
    num_rows: int
    sizes: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkFit:
    """What was read off the rows.

    Attributes:
        technology: With its own costs in place.
        node: With its own share of a NIC in place.
        constants: What changed.
    """

    technology: Technology
    node: Node
    constants: tuple[FittedConstant, ...]

    def on(self, network: Network) -> Network:
        """Return *network* with what was read off."""
        return replace(network, technology=self.technology, node=self.node)


def fit_network(
    rows: Sequence[TimedCollective],
    *,
    num_nodes: int,
    network: Network | None = None,
    messages: Sequence[TimedMessage] = (),
) -> NetworkFit:
    """Return the constants that *rows*, all of one node and one technology, decide.

    Rows inside one node are not used.

    Args:
        rows: What was measured.
        num_nodes: Of the cluster that is to be predicted; rings of two nodes do not decide the
            hops of longer ones.
        network: Of the cluster; that of the first row by default.
        messages: What was measured between two ends.
    """
    between = tuple(row for row in rows if row.collective.group.num_nodes > 1)
    search = _ConstantSearch(network or rows[0].network, num_nodes=num_nodes)
    search.fit_messages(messages)
    search.fit(without_repeats(between))
    return NetworkFit(
        technology=search.technology, node=search.node, constants=tuple(search.constants)
    )


class _FoundShare(NamedTuple):
    """A share, and the two rows it was read off."""

    share: float
    smaller: TimedCollective
    largest: TimedCollective


class _ConstantSearch:
    """Reads one constant after another, each with those before it in place."""

    def __init__(self, network: Network, *, num_nodes: int) -> None:
        self._network = network
        self._num_nodes = num_nodes
        self._shipped = network.technology.model_copy(update={"collectives": None})
        self._costs: dict[str, Any] = {}
        self.technology = self._shipped
        self.node = network.node
        self.constants: list[FittedConstant] = []

    def fit_messages(self, messages: Sequence[TimedMessage]) -> None:
        """Read the latency and the hosts' rate off what two ends measured."""
        shipped = self._shipped
        later, used = with_latency(self._network, messages)
        if used:
            value = median(one.latency_s or 0.0 for one in used)
            self._note("latency", value, None, [float(one.size_bytes or 0) for one in used])
        slower, held = with_rate(replace(self._network, technology=later), messages)
        if held:
            value = slower.host_rate_bps or 0.0
            sizes = [float(one.size_bytes or 0) for one in held]
            self._note("host_rate", value, shipped.host_rate_bps, sizes)
        self._shipped = self.technology = slower

    def fit(self, rows: Sequence[TimedCollective]) -> None:
        """Read what *rows* decide."""
        ringed = [row for row in rows if not collective_entry(row.collective.kind).is_direct]
        spread = [row for row in rows if row.collective.kind is CollectiveKind.ALL_TO_ALL]
        passed = [row for row in rows if row.collective.kind is CollectiveKind.SEND_RECV]
        passed = [row for row in passed if self._is_of_nics(row)]
        algorithm = {row.collective: row.run(self._on(row)).algorithm for row in ringed}
        self._fit_nic_share(ringed, algorithm)
        trees = [row for row in ringed if algorithm[row.collective] != Algorithm.RING]
        self._fit_rings([row for row in ringed if _has_hops(row, algorithm[row.collective])])
        self._fit_trees(trees)
        spread = [row for row in spread if has_some_partners(row)]
        self._fit_share("all_to_all_share", spread, least_bytes=LARGE_BYTES)
        few = [row for row in spread if row.collective.group.size <= _FEW_RANKS]
        self._fit_time("partner_s", [row for row in few if size_of(row) <= 64 * _KIB])
        many = [row for row in spread if row.collective.group.size > _MANY_RANKS]
        self._fit_time("far_partner_s", [row for row in many if size_of(row) <= _MIB])
        self._fit_share("message_share", passed, least_bytes=LARGE_MESSAGE_BYTES)

    def _is_of_nics(self, row: TimedCollective) -> bool:
        """Return whether the NICs decide a message's rate, and not its channels, or neither."""
        full, less = (row.predicted_s(self._on(row, message_share=share)) for share in (1.0, 0.9))
        return full < less or row.time_s > _OF_CHANNELS * full

    def _on(self, row: TimedCollective, **instead: float) -> Network:
        """Return the network of *row* with what was read so far, and *instead*."""
        node = self.node
        if "nic_share" in instead:
            node = node.model_copy(update={"nic_share": instead.pop("nic_share")})
        technology = self.technology
        if instead:
            costs = MeasuredCosts.model_construct(**{**self._costs, **instead})
            technology = technology.model_copy(update={"collectives": costs})
        return replace(row.network, technology=technology, node=node)

    def _keep(self, name: str, value: Any, shown: float, rows: Sequence[TimedCollective]) -> None:
        if name == "nic_share":
            self.node = self.node.model_copy(update={name: value})
        else:
            self._costs[name] = value
            costs = MeasuredCosts.model_construct(**self._costs)
            self.technology = self._shipped.model_copy(update={"collectives": costs})
        sizes = [size_of(row) for row in rows]
        before = shipped_cost(self._network, name)
        key = name if name == "nic_share" else f"collectives.{written_name(name)}"
        self._note(key, shown, before, sizes)

    def _note(self, key: str, value: float, shipped: float | None, sizes: Sequence[float]) -> None:
        of_node = key == "nic_share"
        found = FittedConstant(
            key=key,
            kind="nodes" if of_node else "technologies",
            part=self.node.name if of_node else self._shipped.name,
            value=value,
            shipped=shipped,
            num_rows=len(sizes),
            sizes=(min(sizes), max(sizes)),
        )
        self.constants = [one for one in self.constants if one.key != key]
        self.constants.append(found)

    def _fit_nic_share(
        self, rows: Sequence[TimedCollective], algorithm: Mapping[Collective, str]
    ) -> None:
        """Read the NICs' share off rings and trees; of trees far below it, what they carry."""
        shares = self._shares("nic_share", rows, least_bytes=LARGE_BYTES, most=1.0)
        slow = [
            one
            for one in shares
            if one.share < _LEAST_NIC_SHARE and algorithm[one.largest.collective] != Algorithm.RING
        ]
        if slow:
            rate_bps = median(self._carried_bps(one) for one in slow)
            self._keep("tree_rate_bps", rate_bps, rate_bps, [one.largest for one in slow])
        self._keep_share("nic_share", [one for one in shares if one not in slow])

    def _carried_bps(self, found: _FoundShare) -> float:
        network = self._on(found.largest, nic_share=found.share)
        return scale_out(network, found.largest.collective.group, "tree").rate_bps

    def _fit_share(
        self,
        name: str,
        rows: Sequence[TimedCollective],
        *,
        least_bytes: float,
        most: float = _MAX_SHARE,
    ) -> None:
        self._keep_share(name, self._shares(name, rows, least_bytes=least_bytes, most=most))

    def _shares(
        self, name: str, rows: Sequence[TimedCollective], *, least_bytes: float, most: float
    ) -> list[_FoundShare]:
        """Read shares off how much longer the largest messages take than those of a quarter."""
        found = []
        for low, high in largest_of_each(rows, least_bytes):

            def grows_s(
                share: float, low: TimedCollective = low, high: TimedCollective = high
            ) -> float:
                on = {name: share}
                return high.predicted_s(self._on(high, **on)) - low.predicted_s(self._on(low, **on))

            share = bisected(grows_s, high.time_s - low.time_s, least=0.01, most=most)
            if share is not None:
                found.append(_FoundShare(share, low, high))
        return found

    def _keep_share(self, name: str, found: Sequence[_FoundShare]) -> None:
        if found:
            share = median(one.share for one in found)
            self._keep(name, share, share, [row for one in found for row in one[1:]])

    def _fit_rings(self, rows: Sequence[TimedCollective]) -> None:
        """Read the hops of rings, and those of trees off them until a tree says otherwise."""
        long = [row for row in rows if is_long_enough(row, self._num_nodes)]
        hops = ring_hops(long, self._on)
        if not hops or len({size_of(row) for row in long}) < MIN_ROWS:
            return
        longest = max(hops, key=lambda hop: hop.time_s)
        self._keep("ring_hops", hops, longest.time_s, rows)
        hop_s = max(0.0, hops[0].time_s - HW_US[LinkKind.NET][Algorithm.RING][_LL] * 1e-6)
        if hops[0].size_bytes <= SMALL_BYTES:
            self._keep("hop_s", hop_s, hop_s, rows)
        known_s = HW_US[LinkKind.NET][Algorithm.RING][_SIMPLE] * 1e-6
        known_s += self._costs.get("hop_s", 0.0)
        if hops[0].size_bytes <= SMALL_BYTES and longest.size_bytes >= _ASKED_BYTES:
            asked_s = max(0.0, longest.time_s - known_s)
            self._keep("rendezvous_s", asked_s, asked_s, rows)

    def _fit_trees(self, trees: Sequence[TimedCollective]) -> None:
        self._fit_time("hop_s", [row for row in trees if size_of(row) <= SMALL_BYTES])
        middle = [row for row in trees if _MIB <= size_of(row) < 256 * _MIB]
        self._fit_time("rendezvous_s", middle)

    def _fit_time(self, name: str, rows: Sequence[TimedCollective]) -> None:
        """Read a time off the rows of which it is a good part."""
        used: list[TimedCollective] = []

        def implied(row: TimedCollective) -> float | None:
            without_s = row.predicted_s(self._on(row, **{name: 0.0}))
            here_s = row.predicted_s(self._on(row, **{name: _START_S}))
            there_s = row.predicted_s(self._on(row, **{name: _START_S * STEP}))
            if (
                row.time_s - without_s < _DECISIVE * row.time_s
                and here_s - without_s < 0.1 * row.time_s
            ):
                return None
            used.append(row)
            return solved(_START_S, here_s, there_s, row.time_s, inverse=False)

        value = median_by_machine(rows, implied)
        if value is not None and len(used) >= MIN_ROWS:
            self._keep(name, max(0.0, value), max(0.0, value), used)


def _has_hops(row: TimedCollective, algorithm: str) -> bool:
    return algorithm in set(Algorithm) and can_have_measured_hops(
        row.collective, Algorithm(algorithm)
    )
