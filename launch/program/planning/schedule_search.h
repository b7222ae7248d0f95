// launch/program/planning/schedule_search.h -- `penstock schedule --search` and
// `--verify-certificate`: a schedule searched for given costs, with the bound that says how much
// shorter another one can be at most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/planning/drawing/answer.h"

namespace penstock {

struct SearchRequest {
  std::string costs = {};        // a file (search_file.h); empty: the settings' equal stages
  std::string certificate = {};  // where to write the certificate; empty: nowhere
  double seconds = 10;           // the most that the search may take
  uint64_t seed = 1;
};

struct SearchAnswer {
  ScheduleAnswer answer;
  std::string generator;  // the best that fits, and its step; empty: none fits
  double generator_makespan = 0;
  std::optional<ScheduleAnswer> known;      // the same, drawn
  double makespan = 0, bound = 0, gap = 0;  // as in the certificate
  std::string reason;                       // the terms of the bound, in words
  std::vector<int> limiting_ranks;     // those that the bound is of; empty: all orders were tried
  std::string costs_file;              // SearchRequest::costs
  std::vector<ScheduleAnswer> others;  // the known schedules that fit, where there is such a file
  bool ended_by_clock = false;
};

// Searches, and writes the certificate where one is asked for. Of `settings` the sizes, times and
// recompute mode are read, or none of them with a file of costs. Throws Error(Input) or, from
// runtime/planning, std::invalid_argument.
[[nodiscard]] SearchAnswer search_schedule(const SearchRequest& request,
                                           const ScheduleSettings& settings);

// The page (drawing/page.h), with the best known schedule beside what was found.
[[nodiscard]] std::string search_page(const SearchAnswer& answer);

// The lines to print below the schedule's own figures, and the same as JSON: the schedule's answer
// (drawing/json.h) with the key "search".
[[nodiscard]] std::string search_figures(const SearchAnswer& answer);
[[nodiscard]] std::string search_json(const SearchAnswer& answer);

// Checks a certificate on its own and returns what it proves, in a line. With a file of costs it
// must be for these. Throws Error(Input) for the first thing that does not hold.
[[nodiscard]] std::string verified_certificate(const std::string& path, const std::string& costs);

}  // namespace penstock
