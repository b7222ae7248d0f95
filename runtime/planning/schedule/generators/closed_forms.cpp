// The closed forms of bubbles and peak stashes, each with the sizes and times for which it holds.
#include "runtime/planning/schedule/generators/closed_forms.h"

#include <algorithm>

#include "runtime/planning/schedule/generators/warm_up.h"

namespace penstock {
namespace {

double all_of(const RankTimes& times) {
  return times.forward + times.backward_input + times.backward_weight;
}

// Returns whether a weight half takes no longer than a forward and no longer than an input half.
// The zero-bubble orders are made for such times.
bool short_weights(const RankTimes& times) {
  return times.backward_weight <= std::min(times.forward, times.backward_input);
}

bool all_equal(const RankTimes& times) {
  return times.forward == times.backward_input && times.forward == times.backward_weight;
}

}  // namespace

KnownBubble plain_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  return (sizes.ranks - 1) * all_of(times);
}

KnownBubble interleaved_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  if (sizes.micro_batches % sizes.ranks != 0) return std::nullopt;
  return (sizes.ranks - 1) * all_of(times) / sizes.chunks;
}

KnownBubble looped_bfs_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  if (sizes.micro_batches < sizes.ranks) return std::nullopt;
  return (sizes.ranks - 1) * all_of(times) / sizes.chunks;
}

KnownBubble zb_h1_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  const double hops = sizes.ranks - 1;
  const double ahead = hops == 0 ? 0 : hops + sizes.warm_up;
  if (sizes.micro_batches < 1 + ahead || !short_weights(times)) return std::nullopt;
  const double filled =
      hops * (times.forward + times.backward_input) - ahead * times.backward_weight;
  return std::max(hops * times.forward, filled);
}

KnownBubble zb_h2_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  return zb_h1_bubble(
      {.ranks = sizes.ranks, .micro_batches = sizes.micro_batches, .warm_up = sizes.ranks - 1},
      times);
}

// Returns the bubble of zb-v, or nothing if the order is not made for such sizes and times. A stage
// has half of a rank's layers, so each half of its backward takes half as long as a rank's.
KnownBubble zb_v_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  const bool enough = sizes.micro_batches >= 2 * sizes.ranks - 1;
  const bool ordered = times.forward <= times.backward_input;
  if (!enough || !ordered || !short_weights(times)) return std::nullopt;
  const double input = times.backward_input / 2;
  const double weight = times.backward_weight / 2;
  return (sizes.ranks - 1) * std::max(input, 2 * (input - weight));
}

KnownBubble v_half_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  const int p = sizes.ranks;
  if (sizes.micro_batches < p || !all_equal(times)) return std::nullopt;
  return (p % 2 == 0 ? 3 * p - 4 : 3 * (p - 1)) * times.forward / 2;
}

KnownBubble v_min_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  const int p = sizes.ranks;
  if (!all_equal(times)) return std::nullopt;
  if (p == 1) return 0;
  return (p % 3 == 0 ? 4 * p - 4 : 4 * p - 5) * times.forward / 2;
}

KnownBubble dualpipe_v_bubble(const PipelineSizes& sizes, const RankTimes& times) {
  if (sizes.micro_batches < 2 * sizes.ranks || !all_equal(times)) return std::nullopt;
  return (sizes.ranks - 1) * times.forward / 2;
}

KnownPeak peak_of_all(const PipelineSizes& sizes, int /*rank*/) {
  return sizes.micro_batches * sizes.chunks;
}

KnownPeak peak_ahead(const PipelineSizes& sizes, int rank) {
  const int64_t ahead = forwards_ahead(sizes.ranks, rank, sizes.warm_up);
  return static_cast<int>(std::min<int64_t>(sizes.micro_batches, ahead + 1));
}

KnownPeak peak_twice_ahead(const PipelineSizes& sizes, int rank) {
  return std::min(sizes.micro_batches, 2 * (sizes.ranks - 1 - rank) + 1);
}

KnownPeak interleaved_peak(const PipelineSizes& sizes, int rank) {
  const auto& [p, v, m, warm_up] = sizes;
  if (m % p != 0) return std::nullopt;
  return std::min(v * m, 2 * (p - 1 - rank) + (v - 1) * p + 1);
}

KnownPeak zb_v_peak(const PipelineSizes& sizes, int /*rank*/) {
  if (sizes.micro_batches < 2 * sizes.ranks - 1) return std::nullopt;
  return 2 * sizes.ranks;
}

KnownPeak v_half_peak(const PipelineSizes& sizes, int /*rank*/) {
  if (sizes.micro_batches < sizes.ranks) return std::nullopt;
  return sizes.ranks + 1;
}

KnownPeak v_min_peak(const PipelineSizes& sizes, int rank) {
  if (sizes.micro_batches < sizes.ranks) return std::nullopt;
  const bool one_less = rank % 3 == 2 && sizes.ranks % 3 != 2;
  return 2 * (sizes.ranks / 3 + 1) - (one_less ? 1 : 0);
}

KnownPeak dualpipe_v_peak(const PipelineSizes& sizes, int /*rank*/) {
  if (sizes.micro_batches < 2 * sizes.ranks) return std::nullopt;
  return 2 * sizes.ranks + 1;
}

}  // namespace penstock
