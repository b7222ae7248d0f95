#include "runtime/planning/replay/ports.h"

#include <algorithm>

namespace penstock {

Ports::Ports(const Job& job) : job_(job) {
  if (job.cards == 0 || job.nodes() == 1) return;
  cards_.resize(static_cast<size_t>(job.nodes()) * static_cast<size_t>(job.cards));
  for (size_t c = 0; c < cards_.size(); ++c) {
    const size_t node = c / static_cast<size_t>(job.cards);
    const double slowness = job.node_slowness.empty() ? 1.0 : job.node_slowness[node];
    cards_[c].seconds_per_byte = slowness * job.costs.between_nodes.seconds_per_byte;
  }
}

int Ports::of(int position, int replica) const {
  if (cards_.empty()) return -1;
  const int world = job_.world_rank(position, replica);
  const int node = world / job_.ranks_per_node;
  const int place = world % job_.ranks_per_node;
  return node * job_.cards + place * job_.cards / job_.ranks_per_node;
}

double Ports::Lane::take(double ready, double seconds) {
  const double start = std::max(ready, free_at);
  free_at = start + seconds;
  busy += seconds;
  return start;
}

double Ports::carry(int from, int to, double ready, double bytes) {
  const double leaving = bytes * card(from).seconds_per_byte;
  const double coming = bytes * card(to).seconds_per_byte;
  const double start = card(from).out.take(ready, leaving);
  const double received = card(to).in.take(start, coming) + coming;
  return std::max(start + leaving, received);
}

double Ports::exchange(int number, double ready, double bytes) {
  const double seconds = bytes * card(number).seconds_per_byte;
  const double out = card(number).out.take(ready, seconds);
  const double in = card(number).in.take(ready, seconds);
  return std::max(out, in) + seconds;
}

double Ports::busiest() const {
  double most = 0;
  for (const Card& each : cards_) most = std::max({most, each.out.busy, each.in.busy});
  return most;
}

}  // namespace penstock
