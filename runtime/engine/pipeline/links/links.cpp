#include "runtime/engine/pipeline/links/links.h"

#include "runtime/planning/schedule/edges.h"

namespace penstock {

Links::Links(Network& network, const Schedule& schedule, int window, bool narrow, Device& device) {
  const Edges between(schedule);
  std::vector<DirectedEdge> wires;
  std::vector<int> edge_of_wire;
  const auto rank_of = [&](int stage) {
    return schedule.rank_of_stage[static_cast<size_t>(stage)];
  };
  for (int e = 0; e < between.count(); ++e) {
    const auto [from, to] = between.ends(e);
    if (rank_of(from) == rank_of(to)) continue;
    wires.push_back({from, to, rank_of(from), rank_of(to), Direction::Activation, window});
    wires.push_back({to, from, rank_of(to), rank_of(from), Direction::Gradient, window});
    edge_of_wire.insert(edge_of_wire.end(), 2, e);
  }
  ends_ = network.connect(wires, device);
  links_.resize(static_cast<size_t>(between.count()));
  for (size_t w = 0; w < wires.size(); ++w) {
    SendLink* send = ends_.send[w].get();
    ReceiveLink* receive = ends_.receive[w].get();
    if (narrow && send != nullptr) {
      send = narrow_senders_.emplace_back(std::make_unique<NarrowSendLink>(*send, device)).get();
    }
    if (narrow && receive != nullptr) {
      receive =
          narrow_receivers_.emplace_back(std::make_unique<NarrowReceiveLink>(*receive, device))
              .get();
    }
    const bool forward = wires[w].direction == Direction::Activation;
    EdgeLinks& links = links_[static_cast<size_t>(edge_of_wire[w])];
    (forward ? links.send_activation : links.send_gradient) = send;
    (forward ? links.receive_activation : links.receive_gradient) = receive;
    if (send != nullptr) senders_.push_back(send);
    if (receive != nullptr) receivers_.push_back(receive);
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
