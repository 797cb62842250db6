"""MurmurHash3_x86_32 against vectors that others published, and RoCEv2 source ports."""

from __future__ import annotations

import numpy as np
import pytest

from netloom.fabric.routing.murmur import five_tuple_hash, murmur3_32, roce_source_port

# Ian Boyd's table of test vectors for MurmurHash3_x86_32 (stackoverflow.com/a/31929528).
VECTORS = [
    (b"", 0, 0),
    (b"", 1, 0x514E28B7),
    (b"", 0xFFFFFFFF, 0x81F16F39),
    (b"\xff\xff\xff\xff", 0, 0x76293B50),
    (b"\x21\x43\x65\x87", 0, 0xF55B516B),
    (b"\x21\x43\x65\x87", 0x5082EDEE, 0x2362F9DE),
    (b"\x21\x43\x65", 0, 0x7E4A8634),
    (b"\x21\x43", 0, 0xA0F7B07A),
    (b"\x21", 0, 0x72661CF4),
    (b"\x00\x00\x00\x00", 0, 0x2362F9DE),
    (b"aaaa", 0x9747B28C, 0x5A97808A),
    (b"Hello, world!", 0x9747B28C, 0x24884CBA),
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C, 0x2FA826CD),
]


@pytest.mark.parametrize(("key", "seed", "expected"), VECTORS)
def test_the_hash_equals_the_published_vector(key: bytes, seed: int, expected: int) -> None:
    keys = np.frombuffer(key, dtype=np.uint8).reshape(1, -1)
    assert murmur3_32(keys, np.array([seed], dtype=np.uint32)).tolist() == [expected]


def test_many_keys_are_hashed_as_each_alone() -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 256, (50, 13)).astype(np.uint8)
    seeds = rng.integers(0, 2**32, 50).astype(np.uint32)
    together = murmur3_32(keys, seeds)
    alone = [murmur3_32(keys[i : i + 1], seeds[i : i + 1])[0] for i in range(50)]
    assert together.tolist() == alone


def test_the_five_tuple_is_thirteen_little_endian_bytes() -> None:
    key = (1).to_bytes(4, "little") + (70000).to_bytes(4, "little")
    key += (0xC123).to_bytes(2, "little") + (4791).to_bytes(2, "little") + bytes([17])
    expected = murmur3_32(
        np.frombuffer(key, dtype=np.uint8).reshape(1, -1), np.array([9], dtype=np.uint32)
    )
    got = five_tuple_hash(
        np.array([1]), np.array([70000]), np.array([0xC123], dtype=np.uint16), seed=np.array([9])
    )
    assert got.tolist() == expected.tolist()


def test_a_source_port_folds_the_product_of_the_queue_pairs() -> None:
    # 0x1000 * 0x1003 = 0x1003000: 0x1003000 >> 20 is 0x10, so the label is 0x03010 in its
    # low 20 bits (nothing is left at bit 40). Its low 14 bits are 0x3010, its upper six 0.
    # 0x20000 * 0x3 = 0x60000 is a label as it is: low 14 bits 0, and 0x60000 >> 14 is 0x18.
    got = roce_source_port(np.array([0x1000, 0x20000]), np.array([0x1003, 0x3]))
    assert got.tolist() == [0xC000 | 0x3010, 0xC000 | 0x18]


def test_both_ends_of_a_connection_derive_the_same_port_in_the_dynamic_range() -> None:
    rng = np.random.default_rng(5)
    one, other = rng.integers(2, 2**24, (2, 1000))
    ports = roce_source_port(one, other)
    assert (ports == roce_source_port(other, one)).all()
    assert ports.min() >= 0xC000
