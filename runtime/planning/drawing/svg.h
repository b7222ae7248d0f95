// runtime/planning/drawing/svg.h -- an answer as a picture to put into a paper, a README or a
// browser.
//
// A row per rank, a box per compute instruction as long as it takes, coloured by op, paler for
// later stages of a rank; the micro-batch inside where it fits. Follows the reader's choice of
// light or dark. Needs no script, no font, no network.
#pragma once

#include <string>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

[[nodiscard]] std::string svg(const ScheduleAnswer& answer);

}  // namespace penstock
