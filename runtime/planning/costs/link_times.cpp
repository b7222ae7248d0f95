#include "runtime/planning/costs/link_times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// This is one of the two ends of a link. It sends to the other end and receives from it.
class Player {
 public:
  Player(SendLink& out, ReceiveLink& in, Device& device, int64_t bytes)
      : out_(out),
        in_(in),
        device_(device),
        spec_{Shape{bytes / 4}, DType::F32},
        ball_(device.zeros(spec_.shape, DType::F32, Purpose::Activations)) {}

  // Sends the tensor. Returns how many seconds it took to post the send.
  double send() {
    const auto start = Clock::now();
    out_.send(std::span(&ball_, 1));
    return seconds_since(start);
  }
  void expect() { in_.expect(std::span(&spec_, 1)); }
  void receive() {
    Tensor arrived;
    in_.receive(std::span(&arrived, 1));
    device_.synchronize();
  }
  void drain() { out_.drain(); }

 private:
  SendLink& out_;
  ReceiveLink& in_;
  Device& device_;
  TensorSpec spec_;
  Tensor ball_;
};

struct Rally {
  double one_way_s = 0, posting_s = 0;
};

// Sends messages back and forth, and returns medians of the times. The end at which `serves` is
// true begins. Receives are posted ahead, as those of a stage are.
Rally play(Player& player, bool serves, int times) {
  std::vector<double> trips;
  std::vector<double> postings;
  for (int i = 0; i < times; ++i) {
    player.expect();
    const auto start = Clock::now();
    if (!serves) player.receive();
    postings.push_back(player.send());
    if (serves) player.receive();
    trips.push_back(seconds_since(start) / 2.0);
    player.drain();
  }
  return {median(std::move(trips)), median(std::move(postings))};
}

}  // namespace

LinkTimes fit_link(std::span<const MessageTime> messages, double overhead_s) {
  // The start and the slope are those that minimise the sum of ((start + slope bytes - seconds) /
  // seconds)^2.
  double w = 0;
  double wx = 0;
  double wxx = 0;
  double wy = 0;
  double wxy = 0;
  for (const MessageTime& m : messages) {
    const double weight = 1.0 / (m.seconds * m.seconds);
    w += weight;
    wx += weight * m.bytes;
    wxx += weight * m.bytes * m.bytes;
    wy += weight * m.seconds;
    wxy += weight * m.bytes * m.seconds;
  }
  const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);
  const double start = (wy - slope * wx) / w;
  LinkTimes link;
  link.overhead = std::min(overhead_s, std::max(start, 0.0) / 2.0);
  link.latency = std::max(start - 2.0 * link.overhead, 0.0);
  link.seconds_per_byte = std::max(slope, 0.0);
  return link;
}

namespace {

constexpr int64_t kSmallest = 64;
constexpr int64_t kLargest = int64_t{16} << 20;

// Gives the measured times to all ranks, as sums: only the serving rank of a link has times, and
// the other ranks have zeros.
void tell_all(Collective& ranks, std::vector<LinkMeasurement>& measured) {
  std::vector<double> values;
  for (const LinkMeasurement& link : measured) {
    values.push_back(link.posting_s);
    for (const MessageTime& message : link.messages) values.push_back(message.seconds);
  }
  ranks.sum(values);
  size_t next = 0;
  for (LinkMeasurement& link : measured) {
    link.posting_s = values[next++];
    for (MessageTime& message : link.messages) message.seconds = values[next++];
  }
}

}  // namespace

std::vector<LinkMeasurement> measure_links(Network& network, std::span<const LinkEnds> links,
                                           Device& device, const LinkEffort& effort) {
  std::vector<DirectedEdge> edges;
  for (const auto& [first, second] : links) {
    edges.push_back(
        {.from_stage = 0, .to_stage = 1, .from_position = first, .to_position = second});
    edges.push_back(
        {.from_stage = 1, .to_stage = 0, .from_position = second, .to_position = first});
  }
  const Network::Ends ends = network.connect(edges, device);
  const int here = network.pipeline().rank();
  std::vector<LinkMeasurement> measured(links.size());
  for (size_t l = 0; l < links.size(); ++l) {
    const bool serves = here == links[l][0];
    const bool plays = serves || here == links[l][1];
    network.pipeline().barrier();
    for (int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) {
      MessageTime& message = measured[l].messages.emplace_back();
      message.bytes = static_cast<double>(bytes);
      if (!plays) continue;
      const size_t out = 2 * l + (serves ? 0 : 1);
      const size_t in = 2 * l + (serves ? 1 : 0);
      Player player(*ends.send[out], *ends.receive[in], device, bytes);
      (void)play(player, serves, 3);  // warm-up: requests are made, memory is touched
      const int64_t times = std::clamp<int64_t>(effort.bytes / bytes / 2, 5, effort.repetitions);
      const Rally rally = play(player, serves, static_cast<int>(times));
      if (!serves) continue;
      message.seconds = rally.one_way_s;
      if (bytes == kSmallest) measured[l].posting_s = rally.posting_s;
    }
  }
  tell_all(network.pipeline(), measured);
  return measured;
}

LinkTimes times_of(const LinkMeasurement& measured, const DeviceFacts& device) {
  LinkTimes link = fit_link(measured.messages, measured.posting_s);
  link.receiver_copies = device.host_addressable();
  return link;
}

LinkTimes measure_link(Network& network, int first, int second, Device& device) {
  const LinkEnds ends = {first, second};
  return times_of(measure_links(network, std::span(&ends, 1), device, {})[0], device);
}

}  // namespace penstock
