// launch/program/runs/searched_schedule.cpp -- see searched_schedule.h.
#include "launch/program/runs/searched_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "kernels/error.h"
#include "launch/program/planning/files/search_file.h"
#include "runtime/planning/plan/stages/unlike_ranks.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

// Processors are measured anew now and then, so times differ a little from start to start.
constexpr double kAlikeCosts = 0.2;

std::string milliseconds(double seconds) {
  return milliseconds_text(1e3 * seconds);
}

// What a step takes, what is known of its passes and messages, and whether the clock had a say.
std::string figures(const SearchedStep& step) {
  const Certificate& certificate = step.certificate;
  return fmt::format(
      "{} a step predicted, {} on the fullest rank; of it passes and messages {}, in any order {} "
      "or more (gap {:.1f} %)",
      milliseconds(step.prediction.step.mean_s), bytes_text(step.prediction.fullest_bytes()),
      milliseconds(certificate.makespan), milliseconds(certificate.bound), 100 * certificate.gap);
}

std::string note_of(const SearchedStep& step) {
  std::string note = "searched schedule: " + figures(step);
  if (step.known.empty()) {
    note += "; no known schedule fits";
  } else if (step.is_known) {
    note += fmt::format("; it is {}: nothing was found that is faster by more than {:.1f} %",
                        step.known, 100 * kNearlyAsFast);
  } else {
    note += fmt::format("; {} and {} with {}, the best known one", milliseconds(step.known_step_s),
                        bytes_text(step.known_bytes), step.known);
  }
  if (step.ended_by_clock) {
    note += fmt::format("; the search was ended after {:g} s, so another start may find another",
                        kRunEffort.seconds);
  }
  return note;
}

// Returns what the earlier attempt ran, or nothing, and then says why.
std::optional<SearchedStep> kept_step(const SearchedRun& run, const Cluster& cluster,
                                      const std::string& folder, std::string& why) {
  const std::string path = folder + "/" + kCertificateFile;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    why = path + " is gone";
    return std::nullopt;
  }
  try {
    const Certificate kept = read_certificate(path);
    const std::vector<std::vector<int>> placements = placements_of(run.candidate);
    if (std::ranges::count(placements, kept.problem.rank_of_stage) == 0) {
      why = fmt::format("it is for {} on {}, placed on {}",
                        amount_text(std::ssize(kept.problem.rank_of_stage), "stage"),
                        amount_text(kept.problem.ranks, "rank"),
                        fmt::join(kept.problem.rank_of_stage, ","));
      return std::nullopt;
    }
    const SearchProblem now =
        search_problem(run.candidate, kept.problem.rank_of_stage, run.costs, cluster);
    why = difference(kept.problem, now, kAlikeCosts);
    if (!why.empty()) return std::nullopt;
    SearchedStep step = found_step(run.candidate, kept, run.costs, cluster);
    why = lack_of_memory(step.prediction.memory, memory_limits(step.candidate, cluster));
    if (why.empty()) return step;
  } catch (const std::exception& refusal) {  // Error(Input) of the file, or of the pure rooms
    why = refusal.what();
  }
  return std::nullopt;
}

}  // namespace

SearchedSchedule searched_schedule(const SearchedRun& run, const Cluster& cluster,
                                   const std::string& kept_in) {
  if (run.candidate.warm_up != 0) {
    fail_input(fmt::format(
        "pipeline.schedule = \"searched\" says itself how deep its warm-up is: leave out "
        "--warm-up {}",
        run.candidate.warm_up));
  }
  std::string why;
  if (!kept_in.empty()) {
    if (const auto kept = kept_step(run, cluster, kept_in, why)) {
      return {.csv = kept->candidate.csv,
              .certificate = kept->certificate,
              .note = fmt::format("searched schedule of the earlier attempt, {}/{}: {}", kept_in,
                                  kScheduleFile, figures(*kept))};
    }
  }
  try {
    const SearchedStep step = searched_step(run.candidate, run.costs, cluster, kRunEffort);
    std::string note = note_of(step);
    if (!why.empty()) {
      note += fmt::format("; searched anew, not that of the earlier attempt: {}", why);
    }
    return {.csv = step.candidate.csv, .certificate = step.certificate, .note = std::move(note)};
  } catch (const std::invalid_argument& refusal) {
    fail_input(
        fmt::format("pipeline.schedule = \"searched\": no order was found that fits: {}; "
                    "take more ranks, smaller micro-batches or --recompute layer",
                    refusal.what()));
  }
}

void keep_schedule(const std::string& csv, const Certificate& certificate,
                   const std::string& folder) {
  replace_file(folder + "/" + kScheduleFile, csv);
  replace_file(folder + "/" + kCertificateFile, certificate_text(certificate));
}

}  // namespace penstock
