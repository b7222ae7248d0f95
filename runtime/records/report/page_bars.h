// runtime/records/report/page_bars.h -- the page's sections of stacked bars, as HTML: memory by
// purpose, and where the time went. Private to this room.
#pragma once

#include <string>

#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"

namespace penstock {

[[nodiscard]] std::string memory_section(const RunFiles& files, const RunFacts& facts);
[[nodiscard]] std::string time_section(const RunFiles& files, const RunFacts& facts);

}  // namespace penstock
