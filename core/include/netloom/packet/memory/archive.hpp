// Plain data to bytes and back: the state of a run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace netloom::packet {

/// Appends whatever it is called with.
class Saver {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void operator()(const T& value) {
    append(&value, sizeof value);
  }

  template <class T, class Allocator>
    requires std::is_trivially_copyable_v<T>
  void operator()(const std::vector<T, Allocator>& values) {
    (*this)(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size() * sizeof(T));
  }

  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void append(const void* from, std::size_t size) {
    if (size != 0) {
      const std::size_t at = bytes_.size();
      bytes_.resize(at + size);
      std::memcpy(bytes_.data() + at, from, size);
    }
  }

  std::vector<std::byte> bytes_;
};

/// Fills whatever it is called with, in the order that it was saved.
class Loader {
 public:
  explicit Loader(std::span<const std::byte> bytes)
      : bytes_(bytes) {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void operator()(T& value) {
    take(&value, sizeof value);
  }

  template <class T, class Allocator>
    requires std::is_trivially_copyable_v<T>
  void operator()(std::vector<T, Allocator>& values) {
    std::uint64_t size = 0;
    (*this)(size);
    if (size > bytes_.size() / sizeof(T)) {
      throw std::invalid_argument("restore: the state is cut short");
    }
    values.resize(size);
    take(values.data(), size * sizeof(T));
  }

 private:
  void take(void* to, std::size_t size) {
    if (size > bytes_.size()) {
      throw std::invalid_argument("restore: the state is cut short");
    }
    if (size != 0) {
      std::memcpy(to, bytes_.data(), size);
      bytes_ = bytes_.subspan(size);
    }
  }

  std::span<const std::byte> bytes_;
};

}  // namespace netloom::packet
