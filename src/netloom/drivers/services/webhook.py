"""A webhook: one signed POST, in time; of the answer only its status counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from netloom.drivers.devices.web import fetch

if TYPE_CHECKING:
    from netloom.ops.observe.devices import DeviceAccess

__all__ = ["deliver"]

MAX_BYTES: Final = 1 << 16


def deliver(access: DeviceAccess, body: bytes, *, key: str, sent_at: str, signed: str) -> None:
    """Post *body*.

    Args:
        access: The address, and nothing secret: what proves who sent it is the signature.
        body: JSON.
        key: The same each time that this body is sent.
        sent_at: The time that was signed, too.
        signed: The signature; empty for none.

    Raises:
        HttpStatusError: it answers with an error; whether that can pass is said by its status.
        LabError: it does not answer in time, or says too much.
    """
    headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": key,
        "X-Netloom-Timestamp": sent_at,
    }
    if signed:
        headers["X-Netloom-Signature"] = signed
    fetch(access, body=body, headers=headers, max_bytes=MAX_BYTES)
