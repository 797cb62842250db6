// Selective repeat: what answers name, and what time tells.
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "check.hpp"
#include "netloom/packet/transport/departures.hpp"
#include "netloom/packet/transport/selective.hpp"

namespace {

using netloom::test::check;
using namespace netloom::packet;

constexpr std::uint32_t kPayload = 4'096;

HostSettings uet_settings() {
  HostSettings settings;
  settings.ack_every_bytes = 16'384;
  return settings;
}

/// Both ends of a transfer; packets leave at a time that the test says.
template <class Transport>
struct Both {
  explicit Both(std::uint32_t num_packets)
      : extent{.size_bytes = std::uint64_t{num_packets} * kPayload, .payload_bytes = kPayload} {
    transport.open(sender);
    transport.open(receiver, 0);
    sender.granted_bytes = extent.size_bytes;
  }

  std::uint32_t send(Time now, std::uint16_t entropy = 0) {
    const Segment segment = transport.take(sender, extent);
    Packet packet{};
    packet.sent = now;
    packet.number = segment.number;
    packet.entropy = entropy;
    packet.flags = segment.again ? kAgain : 0;
    transport.depart(sender, packet);
    return segment.number;
  }

  void send_all(std::uint32_t num_packets) {
    for (std::uint32_t i = 0; i < num_packets; ++i) {
      send(i);
    }
  }

  void arrive(std::initializer_list<std::uint32_t> numbers) {
    for (const std::uint32_t number : numbers) {
      Packet packet{};
      packet.number = number;
      packet.payload_bytes = kPayload;
      static_cast<void>(transport.on_data(receiver, extent, packet, 0));
    }
  }

  News answer(std::uint32_t number, std::uint8_t flags = 0, Time sent = 0) {
    Packet packet{};
    packet.number = number;
    packet.flags = flags;
    packet.sent = sent;
    transport.report(receiver, packet);
    return transport.on_ack(sender, extent, packet);
  }

  News nack(std::uint32_t number) {
    Packet packet{};
    packet.number = number;
    packet.form = Form::kNack;
    transport.report(receiver, packet);
    return transport.on_nack(sender, extent, packet);
  }

  [[nodiscard]] std::int64_t out() const { return Transport::in_flight(sender, extent) / kPayload; }

  [[nodiscard]] std::uint32_t oldest(Time now) const {
    return transport.oldest(sender, now).value_or(Awaited{.number = kNone}).number;
  }

  void expire(Time now, Time rtt = 0) {
    if (const auto late = transport.oldest(sender, now)) {
      transport.expire(sender, extent, *late, now, rtt);
    }
  }

  HostSettings settings = uet_settings();
  Transport transport{settings};
  Extent extent;
  Transport::Sender sender;
  Transport::Receiver receiver;
};

using Uet = Both<Selective>;

// 200 packets from 1,000 on: the first ring of 16 grows to 256 and keeps them all.
void departures_are_kept_while_they_grow() {
  Departures departures;
  Departures::Ring ring = departures.take();
  Packet packet{};
  for (std::uint32_t i = 0; i < 200; ++i) {
    packet.sent = Time{10} * i;
    packet.entropy = static_cast<std::uint16_t>(i);
    departures.note(ring, 1'000, 1'000 + i, packet);
  }
  bool kept = true;
  for (std::uint32_t i = 0; i < 200; ++i) {
    kept = kept && departures.age(ring, 1'000 + i, 5'000) == 5'000 - 10 * Time{i} &&
           departures.entropy(ring, 1'000 + i) == i &&
           departures.times(ring, 1'000 + i, 10 * Time{i}) == 1;
  }
  check(kept, "age, path and how often");
  departures.give_back(ring);
  check(departures.take().mask == 15, "the first ring is free again");
}

// Times are kept in 46 bits, which 100 s need; what is older than 70 s is not asked for.
void departures_are_timed_after_any_time() {
  Departures departures;
  Departures::Ring ring = departures.take();
  Packet packet{};
  packet.sent = (Time{1} << 46U) - 5;
  departures.note(ring, 0, 0, packet);
  check(departures.age(ring, 0, packet.sent + 70'000'000) == 70'000'000, "across the turn");
  packet.flags = kAgain;
  packet.sent += 100;
  departures.note(ring, 0, 0, packet);
  check(departures.times(ring, 0, packet.sent) == 2, "twice");
  check(departures.times(ring, 0, packet.sent - 100) == 0, "the first time is past");
  departures.note(ring, 0, 0, packet);
  departures.note(ring, 0, 0, packet);
  check(departures.times(ring, 0, packet.sent) == 3, "three for more");
}

// 130 packets out, of which 5 and 70 arrive. The answer to 70 names the packets from 7 to 70 and
// counts two: 128 are in flight, though 5 may have to be sent again for all that is known.
void answers_that_stand_for_several_packets_count_them() {
  Uet both(130);
  both.send_all(130);
  both.arrive({5, 70});
  check(both.answer(70).acked_bytes == 2 * kPayload, "two have arrived");
  check(both.out() == 128, "which hold no window");
  check(both.sender.num_named == 1, "one of them is known");
  check(both.answer(5).acked_bytes == 0, "no third");
  check(both.sender.num_named == 2, "and now the other");
  check(both.out() == 128, "still 128");
}

// 3, 20 and 40 have come. An answer to 20 names 64 packets from 1 on, for 0 is expected: all three.
// If 20 was marked or asked, they are those from 20 on.
void an_answer_names_what_came_before_or_if_marked_what_came_after() {
  for (const std::uint8_t flags :
       {std::uint8_t{0}, std::uint8_t{kMarked}, std::uint8_t{kAckRequested}}) {
    Uet both(64);
    both.send_all(64);
    both.arrive({3, 20, 40});
    both.answer(20, flags);
    check(both.sender.num_named == (flags == 0 ? 3U : 2U), "how many");
    check(both.oldest(100) == 0, "0 has not come");
    // 0, 1 and 2 expire; then 3 or, if it was named, 4 is the oldest.
    for (int i = 0; i < 3; ++i) {
      both.expire(100);
    }
    check(both.oldest(100) == (flags == 0 ? 4U : 3U), "which");
  }
}

// Packets 0, 1 and 2 leave at 0, 1 and 2; 0 is trimmed and leaves again at 3.
void each_packet_is_timed_by_its_own_last_departure() {
  Uet both(3);
  both.send(0, 10);
  both.send(1, 11);
  both.send(2, 12);
  check(both.nack(0).lost_bytes == kPayload, "trimmed");
  check(both.send(3, 13) == 0, "sent again");
  std::vector<std::uint32_t> order;
  std::vector<std::uint16_t> paths;
  while (const auto late = both.transport.oldest(both.sender, 100)) {
    order.push_back(late->number);
    paths.push_back(late->entropy);
    both.transport.expire(both.sender, both.extent, *late, 100, 0);
  }
  check(order == std::vector<std::uint32_t>{1, 2, 0}, "by departure");
  check(paths == std::vector<std::uint16_t>{11, 12, 13}, "by its own path");
  check(both.sender.num_lost == 3 && both.out() == 0, "all to be sent again");
}

// Two of three have come, unnamed, and expire: they were counted, so that less than nothing is out
// until their repetitions are.
void what_has_come_and_is_taken_for_lost_leaves_room_for_its_repetition() {
  Uet both(3);
  both.send_all(3);
  both.arrive({0, 1});
  Packet count{};
  count.number = 2;
  both.transport.report(both.receiver, count);
  count.offset &= ~std::uint64_t{0xFFFFFFFFU};  // counted, but neither in order nor named
  static_cast<void>(both.transport.on_ack(both.sender, both.extent, count));
  check(both.out() == 1, "one of three");
  both.expire(100);
  both.expire(100);
  check(both.out() == -1, "two that came and are to be sent again");
  both.send(100);
  check(both.out() == 0, "one of them is out");
  both.answer(0);
  check(both.out() == 1 && both.sender.num_lost == 0, "all is known: only 2 is out");
}

// A trimmed header says that it was trimmed, and not what else has come.
void a_nack_names_nothing_else() {
  Uet both(10);
  both.send_all(10);
  both.arrive({0, 1, 2});
  const News news = both.nack(5);
  check(news.lost_bytes == kPayload && news.acked_bytes == 0, "lost, and no more");
  check(both.sender.acked == 0 && both.out() == 9, "as before");
  check(both.nack(5).lost_bytes == 0, "once");
}

// The answer to a packet tells how often it was sent, if it was waited for and sent no more since.
void an_answer_tells_whether_it_can_be_timed() {
  Uet both(4);
  both.send_all(4);
  both.arrive({1});
  check(both.answer(1, 0, 1).times_sent == 1, "the first time");
  check(both.answer(1, 0, 1).times_sent == 0, "known already");
  both.nack(2);
  both.send(9);
  both.arrive({2});
  check(both.answer(2, 0, 2).times_sent == 0, "of its first departure");
  both.nack(3);
  both.send(11);
  both.arrive({3});
  check(both.answer(3, 0, 11).times_sent == 2, "of its second");
}

// Ten packets expire within a round trip of 100 at a sender that is pulled: one is sent unasked.
void a_pulled_sender_stirs_once_a_round_trip() {
  Both<Pulled> both(20);
  both.sender.granted_bytes = std::uint64_t{10} * kPayload;
  both.send_all(10);
  for (int i = 0; i < 5; ++i) {
    both.expire(1'000 + i, 100);
  }
  check(both.transport.has_work(both.sender, both.extent), "one may go");
  both.send(1'005);
  check(!both.transport.has_work(both.sender, both.extent), "and no second");
  both.expire(1'010, 100);
  check(!both.transport.has_work(both.sender, both.extent), "within the round trip");
  both.expire(1'100, 100);
  check(both.transport.has_work(both.sender, both.extent), "after it");
}

// A hundred packets, of which ten are the first window, and lapse after four. Then ten are asked
// for beyond the ten that the receiver has granted, and five while another flow shares the port.
// Four granted of which two were sent leave eight to ask for, and what was trimmed comes back by
// itself.
void a_sender_asks_for_its_share_of_a_window() {
  SelectiveSender sender;
  const Extent extent{.size_bytes = std::uint64_t{100} * kPayload, .payload_bytes = kPayload};
  const auto packets = [&](std::uint32_t sharers) {
    const Share share{.window_bytes = std::uint64_t{10} * kPayload, .sharers = sharers};
    return demand_of(sender, extent, share) / kPayload;
  };
  sender.granted_bytes = std::uint64_t{10} * kPayload;
  check(packets(1) == 11, "a packet while all of the first window is in hand");
  sender.next = 4;
  sender.sent_bytes = std::uint64_t{4} * kPayload;
  check(packets(1) == 14, "what has been sent of it");
  sender.answered = true;
  sender.lapsed_bytes = std::uint64_t{6} * kPayload;
  sender.granted_bytes = sender.sent_bytes;
  check(packets(1) == 20 && packets(2) == 15, "a window, or half of it");
  check(packets(100) == 11, "a packet at least");
  sender.granted_bytes += std::uint64_t{4} * kPayload;
  sender.sent_bytes += std::uint64_t{2} * kPayload;
  check(packets(1) == 22 && packets(2) == 18, "less what is in hand");
  sender.nacked_bytes = kPayload;
  check(packets(1) == 21, "less what its receiver adds by itself");
  sender.granted_bytes = sender.sent_bytes = std::uint64_t{99} * kPayload;
  check(packets(1) == 106, "no more than all, and what lapsed");
}

// Ten packets out, of which 3 arrives: IRN takes 0 to 2 for lost at once and sends them again. Then
// nothing is heard: 0 to 2 are given up, and of the later ones the last alone, since only time
// speaks against them. With none arrived it is the first and the last; TCP gives up all ten.
void time_speaks_against_few_packets_of_irn() {
  const Extent extent{.size_bytes = std::uint64_t{10} * 1'000, .payload_bytes = 1'000};
  const auto lost = [&extent](std::uint32_t disorder, bool third) {
    HostSettings settings;
    settings.disorder_packets = disorder;
    Selective transport(settings);
    Selective::Sender sender;
    transport.open(sender);
    for (int i = 0; i < 10; ++i) {
      static_cast<void>(transport.take(sender, extent));
    }
    if (third) {
      Packet answer{};
      answer.number = 3;
      answer.bits = 1U << 3U;
      static_cast<void>(transport.on_ack(sender, extent, answer));
      for (int i = 0; i < 3; ++i) {
        static_cast<void>(transport.take(sender, extent));
      }
    }
    transport.on_timeout(sender, extent);
    return sender.num_lost;
  };
  check(lost(1, true) == 4, "what a later one overtook, and the last");
  check(lost(1, false) == 2, "the oldest and the last");
  check(lost(3, false) == 10, "everything");
}

}  // namespace

int main() {
  departures_are_kept_while_they_grow();
  departures_are_timed_after_any_time();
  answers_that_stand_for_several_packets_count_them();
  an_answer_names_what_came_before_or_if_marked_what_came_after();
  each_packet_is_timed_by_its_own_last_departure();
  what_has_come_and_is_taken_for_lost_leaves_room_for_its_repetition();
  a_nack_names_nothing_else();
  an_answer_tells_whether_it_can_be_timed();
  a_pulled_sender_stirs_once_a_round_trip();
  a_sender_asks_for_its_share_of_a_window();
  time_speaks_against_few_packets_of_irn();
  return netloom::test::failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
