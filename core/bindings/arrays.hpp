// Arrays across the line between Python and C++.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <utility>
#include <vector>

namespace netloom::bindings {

namespace nb = nanobind;

template <typename T>
using InArray = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using OutArray = nb::ndarray<T, nb::numpy, nb::ndim<1>>;

template <typename T>
std::span<const T> view(const InArray<T>& array) {
  return {array.data(), array.size()};
}

/// Hand a vector to numpy without copying.
template <typename T>
OutArray<T> give(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return OutArray<T>(owned->data(), {owned->size()}, owner);
}

}  // namespace netloom::bindings
