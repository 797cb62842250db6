// Numbers by name, as a caller gives them to a policy.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace netloom::packet {

class Parameters {
 public:
  explicit Parameters(std::map<std::string, double> values)
      : values_(std::move(values)) {}

  /// Sets `field` if its name was given.
  template <class T>
  Parameters& operator()(const char* name, T& field) {
    if (const auto found = values_.extract(name); !found.empty()) {
      if constexpr (std::is_enum_v<T>) {
        field = static_cast<T>(static_cast<int>(found.mapped()));
      } else {
        field = static_cast<T>(found.mapped());
      }
    }
    return *this;
  }

  /// @throws std::invalid_argument if a name was given that the scheme does not have.
  void finish(const std::string& where) const {
    if (!values_.empty()) {
      throw std::invalid_argument(where + " has no parameter '" + values_.begin()->first + "'");
    }
  }

 private:
  std::map<std::string, double> values_;
};

}  // namespace netloom::packet
