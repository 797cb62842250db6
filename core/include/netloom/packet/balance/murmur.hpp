// MurmurHash3_x86_32 (Appleby, smhasher) of a RoCEv2 five-tuple, as the fabric's routing computes
// it.
#pragma once

#include <bit>
#include <cstdint>

namespace netloom::packet {

namespace murmur {

constexpr std::uint32_t scrambled(std::uint32_t word) {
  return std::rotl(word * 0xCC9E2D51U, 15) * 0x1B873593U;
}

constexpr std::uint32_t mixed(std::uint32_t state, std::uint32_t word) {
  return std::rotl(state ^ scrambled(word), 13) * 5U + 0xE6546B64U;
}

constexpr std::uint32_t finalised(std::uint32_t state) {
  state = (state ^ (state >> 16U)) * 0x85EBCA6BU;
  state = (state ^ (state >> 13U)) * 0xC2B2AE35U;
  return state ^ (state >> 16U);
}

}  // namespace murmur

/// Hash of the 13 bytes: source, target, source port, port 4791, protocol 17; little-endian.
constexpr std::uint32_t five_tuple_hash(std::uint32_t source,
                                        std::uint32_t target,
                                        std::uint16_t source_port,
                                        std::uint32_t seed) {
  std::uint32_t state = murmur::mixed(seed, source);
  state = murmur::mixed(state, target);
  state = murmur::mixed(state, source_port | (4791U << 16U));
  state ^= murmur::scrambled(17U);
  return murmur::finalised(state ^ 13U);
}

}  // namespace netloom::packet
