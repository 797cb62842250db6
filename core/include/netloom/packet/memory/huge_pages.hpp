// Vectors in huge pages: a large run touches its state at random, and misses the TLB otherwise.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <vector>

namespace netloom::packet {

/// Asks for huge pages once a block is large enough to fill one; the system may decline.
template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;

  template <class U>
  HugePages(const HugePages<U>& /*other*/) {}  // NOLINT(google-explicit-constructor): a rebind

  [[nodiscard]] T* allocate(std::size_t count) {
    const std::size_t size = count * sizeof(T);
    if (size < kPage) {
      return static_cast<T*>(::operator new(size, kAlign));
    }
    const std::size_t whole = (size + kPage - 1) / kPage * kPage;
    void* const block = std::aligned_alloc(kPage, whole);
    if (block == nullptr) {
      throw std::bad_alloc();
    }
#ifdef MADV_HUGEPAGE
    ::madvise(block, whole, MADV_HUGEPAGE);  // a hint: without, it is slower
#endif
    return static_cast<T*>(block);
  }

  void deallocate(T* block, std::size_t count) noexcept {
    if (count * sizeof(T) < kPage) {
      ::operator delete(block, kAlign);
    } else {
      std::free(block);  // NOLINT(cppcoreguidelines-no-malloc): as it was allocated
    }
  }

  friend bool operator==(const HugePages& /*a*/, const HugePages& /*b*/) { return true; }

 private:
  static constexpr std::size_t kPage = std::size_t{1} << 21U;  // of x86-64 and of arm64
  static constexpr std::align_val_t kAlign{64};
};

template <class T>
using Large = std::vector<T, HugePages<T>>;

}  // namespace netloom::packet
