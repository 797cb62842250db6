// Erasure codes: which packets restore a block, and what its sender then knows.
#include "netloom/packet/transport/coded.hpp"

#include <cstdint>
#include <cstdlib>

#include "check.hpp"

namespace {

using netloom::test::check;
using namespace netloom::packet;

constexpr std::uint32_t kPayload = 4'096;

HostSettings code(std::uint32_t data, std::uint32_t parity, bool of_xor = false) {
  HostSettings settings;
  settings.ack_every_bytes = 1;
  settings.code_data = data;
  settings.code_parity = parity;
  settings.code_xor = of_xor;
  return settings;
}

void blocks_are_numbered_with_their_parity() {
  const HostSettings settings = code(8, 2);
  const BlockCode blocks(settings);
  check(blocks.num_coded(8) == 10, "a full block");
  check(blocks.num_coded(16) == 20, "two of them");
  check(blocks.num_coded(9) == 10 + 3, "one data packet has its own parity");
  const auto place = blocks.place_of(12, 9);
  check(place.begin == 10 && place.data == 1 && place.first_data == 8, "the short last block");
  check(place.index == 2 && place.is_parity(), "its second packet of parity");
}

void any_k_packets_restore_a_block() {
  const HostSettings settings = code(8, 2);
  const BlockCode blocks(settings);
  check(blocks.restores(0b11'1111'1100, 8), "two of the data are lost");
  check(!blocks.restores(0b11'1111'1000, 8), "three are");
  check(blocks.restores(0b100, 1), "parity alone, of one data packet");
}

void a_group_restores_one_packet() {
  const HostSettings settings = code(8, 2, true);
  const BlockCode blocks(settings);
  check(blocks.restores(0b11'1111'1100, 8), "one of each group is lost");
  check(!blocks.restores(0b11'1111'1010, 8), "two of one group are");
  check(blocks.restores(0b00'1111'1111, 8), "all parity is");
}

void a_restored_block_is_acknowledged_whole() {
  const HostSettings settings = code(8, 2);
  Coded coded(settings);
  const Extent extent{.size_bytes = std::uint64_t{16} * kPayload, .payload_bytes = kPayload};
  Coded::Sender sender;
  Coded::Receiver receiver;
  coded.open(sender);
  coded.open(receiver, 0);
  for (std::uint32_t number = 0; number < 20; ++number) {
    Packet packet{};
    const Segment segment = coded.take(sender, extent);
    packet.number = segment.number;
    coded.depart(sender, packet);
    check((segment.offset >= extent.size_bytes) == (number % 10 >= 8), "parity lies behind data");
  }
  check(coded.all_sent(sender, extent), "data and parity have been sent");
  std::uint64_t new_bytes = 0;
  const auto arrive = [&](std::uint32_t number) {
    Packet packet{};
    packet.number = number;
    packet.payload_bytes = kPayload;
    new_bytes += coded.on_data(receiver, extent, packet, 0).new_bytes;
    coded.report(receiver, packet);
    static_cast<void>(coded.on_ack(sender, extent, packet));
  };
  for (std::uint32_t number = 2; number < 10; ++number) {
    arrive(number);
  }
  check(new_bytes == std::uint64_t{8} * kPayload, "what was lost is counted once it is restored");
  check(receiver.expected == 10 && sender.acked == 10, "the first block is done");
  for (const std::uint32_t number : {10U, 12U, 14U, 15U, 16U, 17U, 18U}) {
    arrive(number);
  }
  check(!coded.complete(receiver, extent), "seven of ten are too few");
  check(sender.in_flight == 3, "and three are awaited");
  arrive(11);
  check(coded.complete(receiver, extent) && coded.finished(sender, extent), "eight are enough");
  check(new_bytes == extent.size_bytes && sender.in_flight == 0, "nothing is left");
}

}  // namespace

int main() {
  blocks_are_numbered_with_their_parity();
  any_k_packets_restore_a_block();
  a_group_restores_one_packet();
  a_restored_block_is_acknowledged_whole();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
