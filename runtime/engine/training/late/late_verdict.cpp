#include "runtime/engine/training/late/late_verdict.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/error.h"
#include "runtime/network/optimizer/clip.h"

namespace penstock {
namespace {

constexpr size_t kLosses = std::tuple_size_v<LossNumbers>;
constexpr size_t kVotes = std::tuple_size_v<VoteNumbers>;

}  // namespace

// Lays out the list that is gathered. It has each rank's losses and then its votes. If the rank is
// in replica 0, its squares and its experts' rows follow.
LateVerdict::LateVerdict(const GradientNorm& norm, ExpertLoads& loads, Network& network)
    : brings_more_(network.replicas().rank() == 0),
      replicas_(static_cast<size_t>(network.replicas().size())),
      losses_(replicas_ * kLosses) {
  Collective& world = network.world();
  // The places are gathered as doubles, which hold them exactly: no collective takes other numbers
  // in lists of unequal lengths.
  std::vector<double> places;
  if (brings_more_) places.assign(norm.places().begin(), norm.places().end());
  const int64_t own_rows = brings_more_ ? std::ssize(loads.here()) : 0;
  mine_.resize(kLosses + kVotes + places.size() + static_cast<size_t>(own_rows));
  gather_ = network.late_gather(mine_.size());
  if (gather_ == nullptr) fail_internal("this network has no late gather");
  const std::vector<int64_t> counts = world.gather_to_all(static_cast<int64_t>(places.size()));
  const std::vector<int64_t> rows = world.gather_to_all(own_rows);
  const std::vector<int64_t> replica = world.gather_to_all(int64_t{network.replicas().rank()});
  size_t total = 0;
  for (const int64_t count : counts) total += static_cast<size_t>(count);
  std::vector<double> all_places(total);
  world.gather_to_all(places, all_places);
  std::vector<std::pair<double, size_t>> order;  // (place in the network, place among all numbers)
  size_t first = 0;
  for (size_t rank = 0; rank < counts.size(); ++rank) {
    parts_.push_back({first, static_cast<int>(replica[rank])});
    first += kLosses + kVotes;
    for (int64_t i = 0; i < counts[rank]; ++i) {
      order.emplace_back(all_places[order.size()], first++);
    }
    for (int64_t i = 0; i < rows[rank]; ++i) row_sources_.push_back(first++);
  }
  std::sort(order.begin(), order.end());
  for (const auto& [place, source] : order) sources_.push_back(source);
  in_order_.resize(sources_.size());
  rows_.resize(row_sources_.size());
}

void LateVerdict::start(const Brought& brought) {
  auto at = std::copy(brought.loss.begin(), brought.loss.end(), mine_.begin());
  const VoteNumbers votes = numbers_of(brought.vote);
  at = std::copy(votes.begin(), votes.end(), at);
  if (brings_more_) {
    at = std::copy(brought.squares.begin(), brought.squares.end(), at);
    std::copy(brought.rows.begin(), brought.rows.end(), at);
  }
  gather_->start(mine_);
}

Verdict LateVerdict::finish() {
  const std::span<const double> all = gather_->finish();
  std::fill(losses_.begin(), losses_.end(), 0.0);
  VoteNumbers votes{};
  for (const Part& part : parts_) {
    const auto numbers = all.subspan(part.first, kLosses + kVotes);
    const size_t replica = static_cast<size_t>(part.replica) * kLosses;
    for (size_t i = 0; i < kLosses; ++i) losses_[replica + i] += numbers[i];
    for (size_t i = 0; i < kVotes; ++i) votes[i] += numbers[kLosses + i];
  }
  for (size_t i = 0; i < sources_.size(); ++i) in_order_[i] = all[sources_[i]];
  for (size_t i = 0; i < row_sources_.size(); ++i) rows_[i] = all[row_sources_[i]];
  return {gradient_norm(in_order_), loss_of_replicas(losses_), vote_of(votes), rows_};
}

}  // namespace penstock
