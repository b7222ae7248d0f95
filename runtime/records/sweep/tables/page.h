// runtime/records/sweep/tables/page.h -- sweep_page(): makes report.html of a whole sweep: its
// plots, its table, and links to the pages of its runs.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "runtime/records/sweep/scaling.h"

namespace penstock {

// The page, a single HTML file that loads nothing. `about` says what scaling it is. `plots` are the
// texts of SVG files; `pages` the names of runs (run_name()) whose directory has a report.html, to
// which the page has links. Texts are escaped.
[[nodiscard]] std::string sweep_page(const std::vector<ScalingRow>& rows, const std::string& about,
                                     const std::vector<std::string>& plots,
                                     const std::set<std::string>& pages);

}  // namespace penstock
