// runtime/records/report/page_head.h -- the sections of report.html that are text and tables, as
// HTML: what the run is and how it stands with its main numbers (a new one is a tile of
// head_section()), its attempts (starts), its ranks, its configuration and log. Used only by
// report.cpp.
#pragma once

#include <string>

#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// "transformer-lm: 2 stages x 1 replicas, 8 micro-batches of 4 samples"
[[nodiscard]] std::string headline(const RunFacts& facts);
// The headline, the state of the run (running, finished, ...), and its main numbers.
[[nodiscard]] std::string head_section(const RunFiles& files, const RunFacts& facts);
// The attempts (starts of the run), and the steps that each has done.
[[nodiscard]] std::string attempts_section(const RunFiles& files);
// A table of the ranks: the stage and layers of each, its memory, and how busy it was.
[[nodiscard]] std::string ranks_section(const RunFiles& files, const RunFacts& facts);
// The text of run.toml (all options in effect), and the last lines of log.txt.
[[nodiscard]] std::string files_section(const RunFiles& files);

}  // namespace penstock
