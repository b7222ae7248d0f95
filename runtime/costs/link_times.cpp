#include "runtime/costs/link_times.h"

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

// One end of a link in both directions.
class Player {
 public:
  Player(SendLink& out, ReceiveLink& in, Device& device, int64_t bytes)
      : out_(out),
        in_(in),
        device_(device),
        spec_{Shape{bytes / 4}, DType::F32},
        ball_(device.zeros(spec_.shape, DType::F32, Purpose::Activations)) {}

  // Returns how long the posting took.
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

// To and fro; the receives are posted ahead, as a stage's are.
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
  // Minimises the sum of ((start + slope bytes - seconds) / seconds)^2.
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

LinkTimes measure_link(Network& network, int first, int second, Device& device) {
  constexpr int64_t kSmallest = 64;
  constexpr int64_t kLargest = int64_t{16} << 20;
  constexpr int64_t kBytesToMove = int64_t{128} << 20;  // by size, at most: fractions of a second
  const std::array<DirectedEdge, 2> edges = {
      DirectedEdge{.from_stage = 0, .to_stage = 1, .from_position = first, .to_position = second},
      DirectedEdge{.from_stage = 1, .to_stage = 0, .from_position = second, .to_position = first}};
  const Network::Ends ends = network.connect(edges, device);
  const int here = network.pipeline().rank();
  const bool serves = here == first;
  const bool plays = serves || here == second;
  std::vector<MessageTime> messages;
  double posting = 0;
  for (int64_t bytes = kSmallest; bytes <= kLargest; bytes *= 4) {
    network.pipeline().barrier();
    MessageTime message{static_cast<double>(bytes), 0};
    if (plays) {
      Player player(*ends.send[serves ? 0 : 1], *ends.receive[serves ? 1 : 0], device, bytes);
      (void)play(player, serves, 3);  // requests are made, memory is touched
      const int times = static_cast<int>(std::clamp<int64_t>(kBytesToMove / bytes / 2, 5, 200));
      const Rally rally = play(player, serves, times);
      if (serves) message.seconds = rally.one_way_s;
      if (serves && bytes == kSmallest) posting = rally.posting_s;
    }
    messages.push_back(message);
  }
  // Only the serving rank has times: sums are its values everywhere.
  std::vector<double> values = {posting};
  for (const MessageTime& message : messages) values.push_back(message.seconds);
  network.pipeline().sum(values);
  for (size_t i = 0; i < messages.size(); ++i) messages[i].seconds = values[i + 1];
  LinkTimes link = fit_link(messages, values[0]);
  link.receiver_copies = device.host_addressable();
  return link;
}

}  // namespace penstock
