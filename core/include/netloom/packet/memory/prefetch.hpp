// Fetching into cache what will be needed soon.
#pragma once

#include <cstddef>

namespace netloom::packet {

/// Asks for the line of memory that will be read or written soon.
///
/// The empty statement counts as an effect: without it compilers take a function that only fetches
/// for one that does nothing (GCC 12: -fipa-pure-const), and leave calls of it out.
[[gnu::always_inline]] inline void fetch_line(const void* where) {
  __builtin_prefetch(where, 1);
  asm volatile("");  // NOLINT(portability-no-assembler): it is empty
}

/// The same of something longer.
inline void fetch_lines(const void* where, std::size_t size_bytes) {
  for (std::size_t at = 0; at < size_bytes; at += 64) {
    fetch_line(static_cast<const char*>(where) + at);
  }
}

}  // namespace netloom::packet
