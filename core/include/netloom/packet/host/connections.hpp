// Messages that share a connection: their order, and what of them is out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "netloom/packet/config.hpp"
#include "netloom/packet/packet.hpp"

namespace netloom::packet {

/// A queue pair or socket that several messages go over.
struct Connection {
  std::uint32_t first = kNone;      ///< The message that opened it.
  std::uint32_t last = kNone;       ///< The message that was posted last.
  std::uint32_t sending = kNone;    ///< The first message that is not sent yet, or the last one.
  std::uint32_t oldest = kNone;     ///< The first message that is not done, or the last one.
  std::int64_t flight_bytes = 0;    ///< Of all its messages.
  std::uint32_t num_repeating = 0;  ///< Messages that have something to send again.
  Time sent_at = 0;                 ///< Its last departure.
};

/// A message as a part of what its connection carries.
struct Message {
  std::uint64_t begin_bytes = 0;  ///< What the connection was given to carry before.
  std::int64_t flight_bytes = 0;  ///< Its share of what is out, as last counted.
  bool repeats = false;           ///< It has been sent, and some of it is to be sent again.
};

/// The connections of a run, if any is shared; else each flow is one, and nothing is kept here.
///
/// What the sender of a connection knows of its path lives with the message that opened it, which
/// all others ask: congestion control, its pace and timer, round trips, the history of paths, and
/// at the receiver when it last notified.
class Connections {
 public:
  explicit Connections(const Work& work)
      : shared_(!work.connection.empty()),
        of_(work.connection),
        all_(of_.empty() ? 0 : *std::ranges::max_element(of_) + std::size_t{1}),
        messages_(of_.size()) {}

  [[nodiscard]] bool shared() const { return shared_; }

  /// The flow that keeps what a flow's connection knows.
  [[nodiscard]] std::uint32_t keeper(std::uint32_t flow) const {
    return shared() ? all_[of_[flow]].first : flow;
  }

  [[nodiscard]] Connection& of(std::uint32_t flow) { return all_[of_[flow]]; }

  [[nodiscard]] const Connection& of(std::uint32_t flow) const { return all_[of_[flow]]; }

  [[nodiscard]] Message& message(std::uint32_t flow) { return messages_[flow]; }

  [[nodiscard]] const Message& message(std::uint32_t flow) const { return messages_[flow]; }

  template <class Archive>
  void visit(Archive& archive) {
    archive(all_);
    archive(messages_);
  }

 private:
  bool shared_;
  const std::vector<std::uint32_t>& of_;
  std::vector<Connection> all_;
  std::vector<Message> messages_;
};

}  // namespace netloom::packet
