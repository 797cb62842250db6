"""MurmurHash3 x86 32-bit over many keys at once, and the ports that RoCEv2 derives from QPs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ROCE_PORT", "UDP", "five_tuple_hash", "murmur3_32", "roce_source_port"]

ROCE_PORT: Final = 4791  # UDP destination port of RoCEv2: IANA
UDP: Final = 17  # IP protocol number: IANA

# Constants of MurmurHash3_x86_32: Appleby, smhasher, MurmurHash3.cpp.
_C1, _C2, _N = np.uint32(0xCC9E2D51), np.uint32(0x1B873593), np.uint32(0xE6546B64)
_F1, _F2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


def murmur3_32(keys: NDArray[np.uint8], seed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return MurmurHash3_x86_32 of each row of *keys*, all of one length, with its own seed."""
    num_keys, length = keys.shape
    state = np.broadcast_to(seed.astype(np.uint32), num_keys).copy()
    whole = length - length % 4
    words = np.ascontiguousarray(keys[:, :whole]).view("<u4").astype(np.uint32)
    for word in words.T:
        state ^= _scrambled(word)
        state = _rotated(state, 13) * np.uint32(5) + _N
    if whole < length:
        tail = np.zeros((num_keys, 4), dtype=np.uint8)
        tail[:, : length - whole] = keys[:, whole:]
        state ^= _scrambled(tail.view("<u4")[:, 0].astype(np.uint32))
    return _finalised(state ^ np.uint32(length))


def _rotated(word: NDArray[np.uint32], bits: int) -> NDArray[np.uint32]:
    return (word << np.uint32(bits)) | (word >> np.uint32(32 - bits))


def _scrambled(word: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return _rotated(word * _C1, 15) * _C2


def _finalised(state: NDArray[np.uint32]) -> NDArray[np.uint32]:
    state = (state ^ (state >> np.uint32(16))) * _F1
    state = (state ^ (state >> np.uint32(13))) * _F2
    return state ^ (state >> np.uint32(16))


def five_tuple_hash(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    source_port: NDArray[np.uint16],
    *,
    seed: NDArray[np.int64],
) -> NDArray[np.uint32]:
    """Return the hash that a switch with *seed* makes of RoCEv2 packets.

    The key is 13 bytes, little-endian: source and target (here the vertex of the NIC port, in
    the place of its address) with 4 bytes each, source and destination port with 2, protocol.
    """
    key = np.empty((len(source), 13), dtype=np.uint8)
    key[:, 0:4] = _octets(source, "<u4")
    key[:, 4:8] = _octets(target, "<u4")
    key[:, 8:10] = _octets(source_port, "<u2")
    key[:, 10:12] = np.frombuffer(ROCE_PORT.to_bytes(2, "little"), dtype=np.uint8)
    key[:, 12] = UDP
    return murmur3_32(key, seed.astype(np.uint32))


def _octets(values: NDArray[np.int64] | NDArray[np.uint16], code: str) -> NDArray[np.uint8]:
    return values.astype(code).reshape(-1, 1).view(np.uint8)


def roce_source_port(
    local_qp: NDArray[np.int64], remote_qp: NDArray[np.int64]
) -> NDArray[np.uint16]:
    """Return the UDP source port of a connection between two queue pairs.

    The product of the QP numbers is folded to a flow label of 20 bits, and that to 14 bits
    above 0xC000: Linux, include/rdma/ib_verbs.h, ``rdma_calc_flow_label`` and
    ``rdma_flow_label_to_udp_sport``. A NIC's firmware may do otherwise.
    """
    label = local_qp.astype(np.uint64) * remote_qp.astype(np.uint64)
    label ^= label >> np.uint64(20)
    label ^= label >> np.uint64(40)
    label &= np.uint64(0xFFFFF)
    low = (label ^ (label >> np.uint64(14))) & np.uint64(0x3FFF)
    return (low | np.uint64(0xC000)).astype(np.uint16)
