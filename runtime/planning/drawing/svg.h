// runtime/planning/drawing/svg.h -- svg(): a simulated pipeline schedule (answer.h) as an SVG
// picture, for a paper, a README or a browser: what `penstock schedule --format svg` writes.
//
// The picture has a row for each rank and time from left to right. Each forward and backward is a
// box, as wide as it takes time, with a colour for its kind and the number of its micro-batch where
// there is room. Where a rank holds several stages, the boxes of the later ones are paler. The
// colours follow the reader's choice of light or dark mode, and boxes of the longest path
// (ScheduleAnswer::path) have an outline. The picture needs no script, font or network.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

// Returns the whole text of the SVG file. `beside` (null: nothing), another schedule, stands below
// on the same axis of time.
[[nodiscard]] std::string svg(const ScheduleAnswer& answer, const ScheduleAnswer* beside = nullptr);

}  // namespace penstock
