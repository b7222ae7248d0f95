// runtime/records/report/page_bars.h -- two sections of report.html, as HTML with stacked bars, a
// bar for each rank: memory by purpose (weights, activations, ...), and time of a step by activity
// (computing, waiting, ...).
//
// If there are many ranks, only some have a bar. If the run has recorded nothing for a section, the
// section says so. Only report.cpp uses them.
#pragma once

#include <string>

#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"

namespace penstock {

[[nodiscard]] std::string memory_section(const RunFiles& files, const RunFacts& facts);
[[nodiscard]] std::string time_section(const RunFiles& files, const RunFacts& facts);

}  // namespace penstock
