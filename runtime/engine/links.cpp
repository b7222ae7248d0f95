#include "runtime/engine/links.h"

namespace penstock {

Links::Links(Network& network, const Schedule& schedule, int window, Device& device) {
  std::vector<Edge> edges;
  const auto rank_of = [&](int stage) {
    return schedule.rank_of_stage[static_cast<size_t>(stage)];
  };
  for (int s = 0; s + 1 < schedule.stages; ++s) {
    if (rank_of(s) == rank_of(s + 1)) continue;
    edges.push_back({s, s + 1, rank_of(s), rank_of(s + 1), Direction::Activation, window});
    edges.push_back({s + 1, s, rank_of(s + 1), rank_of(s), Direction::Gradient, window});
  }
  ends_ = network.connect(edges, device);
  boundaries_.resize(static_cast<size_t>(schedule.stages));
  for (size_t e = 0; e < edges.size(); ++e) {
    const bool forward = edges[e].direction == Direction::Activation;
    Boundary& boundary =
        boundaries_[static_cast<size_t>(forward ? edges[e].from_stage : edges[e].to_stage)];
    (forward ? boundary.send_activation : boundary.send_gradient) = ends_.send[e].get();
    (forward ? boundary.receive_activation : boundary.receive_gradient) = ends_.receive[e].get();
    if (ends_.send[e]) senders_.push_back(ends_.send[e].get());
    if (ends_.receive[e]) receivers_.push_back(ends_.receive[e].get());
  }
}

void Links::progress() {
  for (SendLink* sender : senders_) sender->progress();
  for (ReceiveLink* receiver : receivers_) receiver->progress();
}

void Links::hand_over() {
  for (SendLink* sender : senders_) sender->hand_over();
}

void Links::drain() {
  for (SendLink* sender : senders_) sender->drain();
}

}  // namespace penstock
