// Fetching into cache what will be needed soon.
#pragma once

namespace netloom::packet {

/// Asks for the line of memory that will be read or written soon.
///
/// The empty statement counts as an effect: without it compilers take a function that only fetches
/// for one that does nothing (GCC 12: -fipa-pure-const), and leave calls of it out.
[[gnu::always_inline]] inline void fetch_line(const void* where) {
  __builtin_prefetch(where, 1);
  asm volatile("");  // NOLINT(portability-no-assembler): it is empty
}

}  // namespace netloom::packet
