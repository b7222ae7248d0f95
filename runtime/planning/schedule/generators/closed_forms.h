// runtime/planning/schedule/generators/closed_forms.h -- closed forms, from papers, of the makespan
// bubbles and peak stashes of schedules, for the table of known_schedules.h, which says what they
// mean. Nullopt where a form does not hold. Private to this room.
#pragma once

#include <optional>

#include "runtime/planning/schedule/generators/known_schedules.h"

namespace penstock {

using KnownBubble = std::optional<double>;
using KnownPeak = std::optional<int>;

// gpipe, 1f1b, 1f1b-deep: the time of a whole forward and backward, for each rank but one.
[[nodiscard]] KnownBubble plain_bubble(const PipelineSizes& sizes, const RankTimes& times);
// interleaved: 1 / chunks of plain_bubble(), where the micro-batches are a multiple of the ranks.
[[nodiscard]] KnownBubble interleaved_bubble(const PipelineSizes& sizes, const RankTimes& times);
// Each of the schedule in its name.
[[nodiscard]] KnownBubble looped_bfs_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble zb_h1_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble zb_h2_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble zb_v_bubble(const PipelineSizes& sizes, const RankTimes& times);
[[nodiscard]] KnownBubble dualpipe_v_bubble(const PipelineSizes& sizes, const RankTimes& times);

[[nodiscard]] KnownPeak peak_of_all(const PipelineSizes& sizes, int rank);  // gpipe, looped-bfs
[[nodiscard]] KnownPeak peak_behind(const PipelineSizes& sizes, int rank);  // 1f1b, zb-h1
[[nodiscard]] KnownPeak peak_twice_ahead(const PipelineSizes& sizes, int rank);  // 1f1b-deep, zb-h2
[[nodiscard]] KnownPeak interleaved_peak(const PipelineSizes& sizes, int rank);
[[nodiscard]] KnownPeak zb_v_peak(const PipelineSizes& sizes, int rank);
[[nodiscard]] KnownPeak dualpipe_v_peak(const PipelineSizes& sizes, int rank);

}  // namespace penstock
