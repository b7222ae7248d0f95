// launch/program/planning/files/search_file.h -- reads the costs that `penstock schedule
// --search` is given, and writes and reads certificates of what it finds.
#pragma once

#include <string>

#include "runtime/planning/schedule/search/bounds/certificate.h"

namespace penstock {

// Reads a file of costs (docs/planning.md has its keys). `rank_of_stage` is empty where the file
// leaves the placement open. Throws Error(Input) naming the file and the key; the numbers as a
// whole are checked by check_problem().
[[nodiscard]] SearchProblem read_costs(const std::string& path);

// A certificate as JSON: the problem as a file of costs has it, the schedule as lines of CSV, and
// every bound with its terms.
[[nodiscard]] std::string certificate_text(const Certificate& certificate);
// Reads what certificate_text() wrote, and does not check what it says (check_certificate()).
// Throws Error(Input) naming the file and the key.
[[nodiscard]] Certificate read_certificate(const std::string& path);

// Whether two problems have the same sizes, times, bytes and limits.
[[nodiscard]] bool same_costs(const SearchProblem& a, const SearchProblem& b);

}  // namespace penstock
