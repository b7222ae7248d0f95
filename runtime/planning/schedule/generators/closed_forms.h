// runtime/planning/schedule/generators/closed_forms.h -- formulas from papers for the bubble and
// the peak memory of each schedule, without simulating it.
//
// known_schedules.h has a column for each kind of formula, and known_schedules.cpp fills the
// columns with these functions; tests compare them with the simulator. A bubble is the makespan
// bubble (timeline.h) in the unit of `times`; a peak is the most stashes (saved activations,
// counted in micro-batches of one stage) that a rank, numbered from 0, holds at once. A function
// returns nullopt for sizes and times for which its formula does not hold. Messages take no time
// and nothing is recomputed.
#pragma once

#include <optional>

#include "runtime/planning/schedule/generators/known_schedules.h"

namespace penstock {

// Null: no formula holds.
using KnownBubble = std::optional<double>;
using KnownPeak = std::optional<int>;

// gpipe, 1f1b and 1f1b-deep: (ranks - 1) x (time of a forward and a whole backward).
[[nodiscard]] KnownBubble plain_bubble(const PipelineSizes& sizes, const RankTimes& times);
// interleaved-1f1b: plain_bubble() / chunks, where micro_batches is a multiple of ranks.
[[nodiscard]] KnownBubble interleaved_bubble(const PipelineSizes& sizes, const RankTimes& times);
// The bubbles of looped-bfs, zb-h1, zb-h2, zb-v, v-half, v-min and dualpipev.
[[nodiscard]] KnownBubble looped_bfs_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble zb_h1_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble zb_h2_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble zb_v_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble v_half_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble v_min_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble dualpipe_v_bubble(const PipelineSizes& sizes, const RankTimes& times);

// gpipe and looped-bfs: every micro-batch of every stage of the rank.
[[nodiscard]] KnownPeak peak_of_all(const PipelineSizes& sizes, int rank);
// 1f1b and zb-h1: min(micro_batches, ranks - rank), and with a deeper warm-up forwards_ahead() + 1
// in place of ranks - rank.
[[nodiscard]] KnownPeak peak_ahead(const PipelineSizes& sizes, int rank);
// 1f1b-deep and zb-h2: min(micro_batches, 2 (ranks - 1 - rank) + 1).
[[nodiscard]] KnownPeak peak_twice_ahead(const PipelineSizes& sizes, int rank);
// The peaks of interleaved-1f1b, zb-v, v-half, v-min and dualpipev.
[[nodiscard]] KnownPeak interleaved_peak(const PipelineSizes& sizes, int rank);
[[nodiscard]] KnownPeak zb_v_peak(const PipelineSizes& sizes, int rank);
[[nodiscard]] KnownPeak v_half_peak(const PipelineSizes& sizes, int rank);
[[nodiscard]] KnownPeak v_min_peak(const PipelineSizes& sizes, int rank);
[[nodiscard]] KnownPeak dualpipe_v_peak(const PipelineSizes& sizes, int rank);

}  // namespace penstock
