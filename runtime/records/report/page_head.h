// runtime/records/report/page_head.h -- the page's sections without drawings, as HTML: what the run
// is and how it stands, its attempts, ranks and files. Private to this room.
#pragma once

#include <string>

#include "runtime/records/report/reading/run_facts.h"
#include "runtime/records/report/reading/run_files.h"

namespace penstock {

// "transformer-lm: 2 stages x 1 replicas, 8 micro-batches of 4 samples"
[[nodiscard]] std::string headline(const RunFacts& facts);
// The headline, the state of the run, and its main figures.
[[nodiscard]] std::string head_section(const RunFiles& files, const RunFacts& facts);
// The attempts and the steps that each has done.
[[nodiscard]] std::string attempts_section(const RunFiles& files);
// What each rank held, and how busy it was.
[[nodiscard]] std::string ranks_section(const RunFiles& files, const RunFacts& facts);
// The effective run file, and the end of the log.
[[nodiscard]] std::string files_section(const RunFiles& files);

}  // namespace penstock
