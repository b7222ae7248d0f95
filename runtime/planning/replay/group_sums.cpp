#include "runtime/planning/replay/group_sums.h"

#include <algorithm>
#include <map>

namespace penstock {
namespace {

// Returns how many bytes a slice has: as many as are under way at once
// (runtime/system/comm/mpi/mpi_reduce.h), or more if there would be more than 256 slices.
double slice_of(double bytes) {
  constexpr double kLeast = 8 << 20;
  constexpr double kSlices = 256;
  return std::max(kLeast, bytes / kSlices);
}

}  // namespace

GroupSums::GroupSums(const Job& job)
    : job_(job),
      replicas_(job.distinct_replicas()),
      moved_(halves_before_update(job.costs) * half_sum_share(job.costs)),
      gathered_(gathered_bytes(job.costs, job.schedule)),
      groups_(job.costs.reduce.size()),
      free_at_(static_cast<size_t>(job.ranks()), 0.0) {
  for (size_t stage = 0; stage < groups_.size(); ++stage) {
    groups_[stage].ready.assign(job.costs.reduce[stage].size(), 0.0);
    find_places(groups_[stage], job.schedule.rank_of_stage[stage]);
  }
}

// Sets the group's link, and for each replica the share of the other members that is on other
// nodes.
void GroupSums::find_places(Group& group, int position) const {
  const int replicas = job_.costs.replicas;
  std::map<int, int> members;
  for (int replica = 0; replica < replicas; ++replica) ++members[job_.node_of(position, replica)];
  group.link = job_.sum_link(position);
  for (int replica = 0; replica < replicas_; ++replica) {
    const int here = members[job_.node_of(position, replica)];
    group.away.push_back(replicas > 1 ? static_cast<double>(replicas - here) / (replicas - 1) : 0);
  }
}

size_t GroupSums::rank_of(int stage, int replica) const {
  const int position = job_.schedule.rank_of_stage[static_cast<size_t>(stage)];
  return static_cast<size_t>(replica) * static_cast<size_t>(job_.schedule.ranks) +
         static_cast<size_t>(position);
}

double GroupSums::earliest(const Group& group, int stage) const {
  double moment = group.ready[group.next];
  for (int replica = 0; replica < replicas_; ++replica) {
    moment = std::max(moment, free_at_[rank_of(stage, replica)]);
  }
  return moment;
}

double GroupSums::owed(int stage) const {
  const LinkTimes& link = groups_[static_cast<size_t>(stage)].link;
  if (!link.receiver_copies) return 0;
  double bytes = 0;
  for (const ReduceBucket& bucket : job_.costs.reduce[static_cast<size_t>(stage)]) {
    bytes += bucket.bytes;
  }
  return moved_ * bytes * link.seconds_per_byte;
}

std::optional<double> GroupSums::completed(int stage, double start, double end) {
  Group& group = groups_[static_cast<size_t>(stage)];
  const auto& buckets = job_.costs.reduce[static_cast<size_t>(stage)];
  for (size_t b = 0; b < buckets.size(); ++b) {
    group.ready[b] = std::max(group.ready[b], start + buckets[b].ready * (end - start));
  }
  if (++group.members < replicas_ || buckets.empty()) return std::nullopt;
  return earliest(group, stage);
}

double GroupSums::move_slice(const Group& group, int stage, double now, double bytes,
                             Ports& ports) const {
  double done = now;
  if (!group.link.receiver_copies) done += bytes * group.link.seconds_per_byte;
  const int position = job_.schedule.rank_of_stage[static_cast<size_t>(stage)];
  for (int replica = 0; replica < replicas_; ++replica) {
    const double away = group.away[static_cast<size_t>(replica)] * bytes;
    const int card = ports.of(position, replica);
    if (card >= 0 && away > 0) done = std::max(done, ports.exchange(card, now, away));
  }
  return done;
}

std::optional<double> GroupSums::advance(int stage, double now, Ports& ports) {
  Group& group = groups_[static_cast<size_t>(stage)];
  if (group.moved == 0) {
    const double moment = earliest(group, stage);
    if (moment > now) return moment;
  }
  const double all = moved_ * job_.costs.reduce[static_cast<size_t>(stage)][group.next].bytes;
  const double slice = std::min(all - group.moved, slice_of(all));
  const double done = move_slice(group, stage, now, slice, ports);
  group.moved += slice;
  if (group.moved < all) return done;
  group.moved = 0;
  const double end = done + halves_before_update(job_.costs) * group.link.latency;
  for (int replica = 0; replica < replicas_; ++replica) {
    free_at_[rank_of(stage, replica)] = end;
  }
  end_ = std::max(end_, end);
  if (++group.next == group.ready.size()) return std::nullopt;
  return earliest(group, stage);
}

bool GroupSums::are_late(int stage) const {
  const auto s = static_cast<size_t>(stage);
  return job_.costs.late_weights && gathered_[s] > 0 && !groups_[s].link.receiver_copies;
}

std::optional<double> GroupSums::send_weights(int stage, double now, Ports& ports) {
  Group& group = groups_[static_cast<size_t>(stage)];
  const double all = gathered_[static_cast<size_t>(stage)];
  const double slice = std::min(all - group.weights_moved, slice_of(all));
  const double done = move_slice(group, stage, now, slice, ports);
  group.weights_moved += slice;
  if (group.weights_moved < all) return done;
  group.weights_there = done + group.link.latency;
  return std::nullopt;
}

double GroupSums::gather(double now, Ports& ports) const {
  std::vector<double> bytes(static_cast<size_t>(job_.schedule.ranks), 0.0);
  std::vector<int> stage_of(bytes.size(), -1);  // some stage that the position holds
  for (int stage = 0; stage < std::ssize(groups_); ++stage) {
    const int rank = job_.schedule.rank_of_stage[static_cast<size_t>(stage)];
    if (are_late(stage)) continue;
    bytes[static_cast<size_t>(rank)] += gathered_[static_cast<size_t>(stage)];
    stage_of[static_cast<size_t>(rank)] = stage;
  }
  double end = now;
  for (size_t position = 0; position < bytes.size(); ++position) {
    if (bytes[position] == 0) continue;
    const int stage = stage_of[position];
    const Group& group = groups_[static_cast<size_t>(stage)];
    double here = move_slice(group, stage, now, bytes[position], ports) + group.link.latency;
    if (group.link.receiver_copies) here += bytes[position] * group.link.seconds_per_byte;
    end = std::max(end, here);
  }
  return end;
}

}  // namespace penstock
