"""Whether settings as published are sane on a network's switches."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from netloom.study.simulate.choices import Choices

if TYPE_CHECKING:
    from netloom.engines.packet.ecn import Ecn
    from netloom.fabric.network import Network
    from netloom.fabric.wire.lossless_ethernet import LosslessSettings
    from netloom.spec.fabric.settings import OwnSettings

__all__ = ["SettingsCheck", "sanity_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsCheck:
    """One rule of settings, whether it holds, and the numbers."""

    what: str
    ok: bool
    said: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


def sanity_of(
    network: Network,
    found: LosslessSettings,
    marks: Ecn | None,
    asked: str | OwnSettings,
    window_bytes: float,
) -> tuple[SettingsCheck, ...]:
    """Return the rules: marks before pauses, headroom that fits, windows that fill the way."""
    return (
        *_marks(network, found, marks),
        _headroom(network, found),
        _window(network, asked, window_bytes),
    )


def _headroom(network: Network, found: LosslessSettings) -> SettingsCheck:
    """Return whether headroom leaves a pool; where it leaves none there are no settings at all."""
    buffer_bytes = network.design.switch.buffer_bytes or 0.0
    return SettingsCheck(
        what="headroom of all ports fits the buffer",
        ok=found.headroom_bytes < buffer_bytes,
        said=f"{found.headroom_bytes:,} B of {buffer_bytes:,.0f} B, {found.pool_bytes:,} B shared",
    )


def _marks(
    network: Network, found: LosslessSettings, marks: Ecn | None
) -> tuple[SettingsCheck, ...]:
    if marks is None:
        return ()
    rate_bps = network.design.port_rate_bps
    scale = rate_bps / marks.at_rate_bps if marks.at_rate_bps else 1.0
    rules = (
        ("Kmin under XOFF, all ports congested", marks.kmin_bytes, found.xoff_at_bytes),
        ("Kmax under XOFF, one port congested", marks.kmax_bytes, found.alone_at_bytes),
    )
    return tuple(
        SettingsCheck(
            what=what,
            ok=scale * wanted < limit,
            said=f"{scale * wanted:,.0f} B wanted, pauses from {limit:,} B; the lower is used",
        )
        for what, wanted, limit in rules
    )


def _window(network: Network, asked: str | OwnSettings, window_bytes: float) -> SettingsCheck:
    host = Choices(settings=asked).packet_settings(network.technology).transport
    own = host.window_bytes or 0
    return SettingsCheck(
        what="window at least the bandwidth-delay product",
        ok=not own or own >= window_bytes,
        said=f"{own:,} B of window (0: none), {window_bytes:,.0f} B on the way",
    )
