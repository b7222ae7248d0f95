// runtime/planning/plan/searched_step.h -- searched_step(): finds a schedule for a training step of
// one Arrangement, by the costs of its layers, and says how far from the best order it can be.
//
// search() (schedule/search/search.h) knows passes and messages between neighbours alone. What else
// a step has (sums over replicas, updates, skips, shared cards) is in the predictions by which its
// answer is compared with the known schedules here; so no known schedule that fits is predicted to
// be faster by more than kNearlyAsFast.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/planning/plan/predict.h"
#include "runtime/planning/schedule/search/bounds/certificate.h"
#include "runtime/planning/schedule/search/search.h"

namespace penstock {

// Where steps of several orders differ by no more than this share, the one that needs the least
// memory is taken: forecasts are not so exact, and memory that is left may be of use.
inline constexpr double kNearlyAsFast = 0.005;

// How much is tried when a run starts, and for what a plan recommends: a limit of what is timed, so
// that the answer depends on the costs alone. The clock ends it on machines that are far slower
// than usual.
inline constexpr SearchEffort kRunEffort{.seed = 1, .instructions = 50'000'000, .seconds = 60};

struct SearchedStep {
  Arrangement candidate;    // that was asked for, with the answer's text and kSearched as its name
  Prediction prediction;    // of a step with it
  Certificate certificate;  // of passes and messages; its limits are those of memory_limits()
  // The fastest known schedule that fits, or the known one that was taken; empty: none fits.
  std::string known = {};
  double known_step_s = 0;  // the mean step with it
  int64_t known_bytes = 0;  // of the fullest rank with it
  bool is_known = false;    // nothing faster, or as fast with less memory, was found than `known`
  bool ended_by_clock = false;
};

// The placements that are searched, each the rank of each stage: the one that the candidate lists,
// or the usual ones of its sizes.
[[nodiscard]] std::vector<std::vector<int>> placements_of(const Arrangement& candidate);

// What is searched for with this placement. In mode stage the last stage and the kept ones
// are taken to recompute nothing. A limit is what is left of the memory beside the bytes that every
// order needs. The arguments are as in searched_step().
[[nodiscard]] SearchProblem search_problem(const Arrangement& candidate,
                                           const std::vector<int>& rank_of_stage,
                                           const ModelCosts& costs, const Cluster& cluster);

// `candidate` must have a split and its number of chunks; its schedule is not read. No rank needs
// more memory than the cluster has for it (memory_limits(), unlike_ranks.h). Throws
// std::invalid_argument where nothing that was found fits, with the rank and the bytes, and for
// what check_problem() and predict() refuse.
[[nodiscard]] SearchedStep searched_step(const Arrangement& candidate, const ModelCosts& costs,
                                         const Cluster& cluster, const SearchEffort& effort = {});

// The same for an answer that was found before, of which `certificate` tells: nothing is searched,
// and `known` is empty; whether it fits the memory is for the caller to see. The candidate must
// have the schedule's sizes.
[[nodiscard]] SearchedStep found_step(const Arrangement& candidate, const Certificate& certificate,
                                      const ModelCosts& costs, const Cluster& cluster);

}  // namespace penstock
