// Erasure-coded transfers: a block of packets is whole once enough of them have arrived.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "netloom/packet/config.hpp"
#include "netloom/packet/transport/segment.hpp"
#include "netloom/packet/transport/selective.hpp"

namespace netloom::packet {

/// Blocks of `data` packets with `parity` more behind them, 64 in all at most.
///
/// Either any `data` of them restore a block (MDS, such as Reed-Solomon), or packet i of the parity
/// is the exclusive or of every `parity`-th data packet from i on, and restores one of these
/// (SDR-RDMA, arXiv:2505.05366).
class BlockCode {
 public:
  explicit BlockCode(const HostSettings& settings)
      : data_(std::max(settings.code_data, 1U)),
        parity_(settings.code_parity),
        of_xor_(settings.code_xor) {}

  /// Where a packet stands.
  struct Place {
    std::uint32_t begin;       ///< Number of the first packet of its block.
    std::uint32_t data;        ///< Data packets of the block: fewer at the end of a transfer.
    std::uint32_t first_data;  ///< The first of them, counted without parity.
    std::uint32_t index;       ///< Of the packet in its block; from `data` on, parity.
    std::uint32_t number;      ///< Of the block.

    [[nodiscard]] bool is_parity() const { return index >= data; }
  };

  /// Packets in all, of a transfer of `num_data`.
  [[nodiscard]] std::uint32_t num_coded(std::uint32_t num_data) const {
    const std::uint32_t rest = num_data % data_;
    return num_data / data_ * (data_ + parity_) + (rest != 0 ? rest + parity_ : 0);
  }

  /// The transfer as its transport numbers it, parity included.
  [[nodiscard]] Extent coded(const Extent& extent) const {
    return {
        .size_bytes = std::uint64_t{num_coded(extent.num_packets())} * extent.payload_bytes,
        .payload_bytes = extent.payload_bytes,
    };
  }

  [[nodiscard]] Place place_of(std::uint32_t number, std::uint32_t num_data) const {
    const std::uint32_t block = number / (data_ + parity_);
    const std::uint32_t first = block * data_;
    return {
        .begin = block * (data_ + parity_),
        .data = std::min(data_, num_data - first),
        .first_data = first,
        .index = number % (data_ + parity_),
        .number = block,
    };
  }

  [[nodiscard]] std::uint32_t parity() const { return parity_; }

  /// Whether the packets of a block that have come, a bit each, restore the others.
  [[nodiscard]] bool restores(std::uint64_t come, std::uint32_t data) const {
    if (!of_xor_) {
      return std::cmp_greater_equal(std::popcount(come), data);
    }
    for (std::uint32_t group = 0; group < parity_; ++group) {
      std::uint32_t missing = bit(come, data + group) ? 0 : 1;
      for (std::uint32_t one = group; one < data; one += parity_) {
        missing += bit(come, one) ? 0 : 1;
      }
      if (missing > 1) {
        return false;
      }
    }
    return true;
  }

 private:
  static bool bit(std::uint64_t bits, std::uint32_t at) { return ((bits >> at) & 1U) != 0; }

  std::uint32_t data_;
  std::uint32_t parity_;
  bool of_xor_;
};

/// Selective repeat over blocks of an erasure code.
///
/// A receiver that can restore a block takes all of it for arrived, and says so: nothing of it is
/// sent again. Packets of other blocks are sent again when they have been out for `timeout_rtts`
/// round trips. Numbers count data and parity, block by block.
class Coded : public SelectiveRepeat<false> {
  using Base = SelectiveRepeat<false>;

 public:
  static constexpr bool kCodes = true;

  explicit Coded(const HostSettings& settings)
      : Base(settings), code_(settings) {}

  // Transports are chosen at compile time: what codes counts in blocks, the rest is the base's.
  // NOLINTBEGIN(bugprone-derived-method-shadowing-base-method)
  [[nodiscard]] bool has_work(const Sender& sender, const Extent& extent) const {
    return Base::has_work(sender, code_.coded(extent));
  }

  [[nodiscard]] std::uint64_t acked_to(const Sender& sender, const Extent& extent) const {
    return Base::acked_to(sender, code_.coded(extent));
  }

  [[nodiscard]] std::uint64_t sent_to(const Sender& sender, const Extent& extent) const {
    return Base::sent_to(sender, code_.coded(extent));
  }

  [[nodiscard]] bool all_sent(const Sender& sender, const Extent& extent) const {
    return Base::all_sent(sender, code_.coded(extent));
  }

  [[nodiscard]] bool finished(const Sender& sender, const Extent& extent) const {
    return Base::finished(sender, code_.coded(extent));
  }

  Segment take(Sender& sender, const Extent& extent) {
    Segment segment = Base::take(sender, code_.coded(extent));
    const auto place = code_.place_of(segment.number, extent.num_packets());
    if (place.is_parity()) {
      const std::uint64_t before = std::uint64_t{place.number} * code_.parity();
      segment.offset =
          extent.size_bytes + (before + place.index - place.data) * extent.payload_bytes;
      segment.payload_bytes = extent.bytes_of(place.first_data);  // as long as the longest
    } else {
      const std::uint32_t number = place.first_data + place.index;
      segment.offset = std::uint64_t{number} * extent.payload_bytes;
      segment.payload_bytes = extent.bytes_of(number);
    }
    return segment;
  }

  std::uint32_t lose_older(Sender& sender, const Extent& extent, Time most, Time now) {
    return Base::lose_older(sender, code_.coded(extent), most, now);
  }

  News on_ack(Sender& sender, const Extent& extent, const Packet& ack) {
    const News news = Base::on_ack(sender, code_.coded(extent), ack);
    sender.next = std::max(sender.next, sender.acked);  // parity that a block does not need
    return news;
  }

  News on_nack(Sender& sender, const Extent& extent, const Packet& nack) {
    const News news = Base::on_nack(sender, code_.coded(extent), nack);
    sender.next = std::max(sender.next, sender.acked);
    return news;
  }

  void on_timeout(Sender& sender, const Extent& extent) {
    Base::on_timeout(sender, code_.coded(extent));
  }

  void lose_all(Sender& sender, const Extent& extent) {
    Base::lose_all(sender, code_.coded(extent));
  }

  void expire(Sender& sender, const Extent& extent, const Awaited& late, Time now, Time rtt) {
    Base::expire(sender, code_.coded(extent), late, now, rtt);
  }

  void repeat_last(Sender& sender, const Extent& extent) {
    Base::repeat_last(sender, code_.coded(extent));
  }

  Receipt on_data(Receiver& receiver, const Extent& extent, const Packet& packet, Time /*now*/) {
    BitRings& rings = this->rings();
    const bool again = (packet.flags & kAgain) != 0;
    if (packet.number < receiver.expected || rings.test(receiver.ring, packet.number)) {
      return {.reply = again ? Reply::kAck : Reply::kMaybe, .redundant = !again};
    }
    if ((packet.flags & kTrimmed) != 0) {
      return {.reply = Reply::kNack};
    }
    const auto place = code_.place_of(packet.number, extent.num_packets());
    rings.set(receiver.ring, packet.number);
    ++receiver.num_received;
    const bool disordered = packet.number != receiver.expected;
    std::uint32_t new_bytes = place.is_parity() ? 0 : packet.payload_bytes;
    const std::uint64_t come = come_of(receiver, place);
    if (code_.restores(come, place.data)) {
      new_bytes += restore(receiver, extent, place, come);
    }
    while (rings.test(receiver.ring, receiver.expected)) {
      rings.clear(receiver.ring, receiver.expected++);
    }
    return {
        .reply = Reply::kMaybe,
        .new_bytes = new_bytes,
        .disordered = disordered,
        .redundant = place.is_parity(),
    };
  }

  [[nodiscard]] bool complete(const Receiver& receiver, const Extent& extent) const {
    return Base::complete(receiver, code_.coded(extent));
  }

  [[nodiscard]] std::uint64_t end_of(const Extent& extent) const {
    return Base::end_of(code_.coded(extent));
  }

  // NOLINTEND(bugprone-derived-method-shadowing-base-method)

 private:
  /// Which packets of a block have come, a bit each.
  [[nodiscard]] std::uint64_t come_of(const Receiver& receiver, const BlockCode::Place& place) {
    const std::uint32_t total = place.data + code_.parity();
    const std::uint32_t first = std::max(place.begin, receiver.expected);
    const std::uint32_t before = first - place.begin;  // of these all have come, and are forgotten
    const std::uint64_t all = total == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << total) - 1;
    const std::uint64_t known = (std::uint64_t{1} << before) - 1;
    return ((rings().from(receiver.ring, first) << before) | known) & all;
  }

  /// Takes a whole block for arrived; returns the payload that had not come.
  std::uint32_t restore(Receiver& receiver,
                        const Extent& extent,
                        const BlockCode::Place& place,
                        std::uint64_t come) {
    std::uint32_t bytes = 0;
    for (std::uint32_t index = 0; index < place.data + code_.parity(); ++index) {
      if (((come >> index) & 1U) != 0) {
        continue;
      }
      rings().set(receiver.ring, place.begin + index);
      bytes += index < place.data ? extent.bytes_of(place.first_data + index) : 0;
    }
    return bytes;
  }

  BlockCode code_;
};

}  // namespace netloom::packet
