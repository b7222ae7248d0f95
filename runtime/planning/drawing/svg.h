// runtime/planning/drawing/svg.h -- svg(): an answer as an SVG picture, for a paper, a README or a
// browser.
//
// A row for each rank, a box for each compute instruction, as wide as its time, coloured by op,
// paler for later stages of a rank, with the number of the micro-batch where it fits. Follows the
// reader's choice of light or dark. Needs no script, no font, no network.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

[[nodiscard]] std::string svg(const ScheduleAnswer& answer);

}  // namespace penstock
