// launch/program/runs/searched_schedule.h -- the schedule of a run with pipeline.schedule =
// "searched": searched when the run starts or, where it goes on, that of its earlier attempt.
#pragma once

#include <optional>
#include <string>

#include "runtime/planning/blueprint/searched_run.h"

namespace penstock {

struct SearchedSchedule {
  std::string csv;          // the schedule, for PipelineConfig::schedule_csv
  Certificate certificate;  // of its passes and messages
  std::string note;         // for the user: what it is, what it takes, how far from the best it is
};

// `kept_in`: the run directory of an earlier attempt, whose schedule is gone on with if it fits and
// is for such costs (the note says why not); empty: there is none. Throws Error(Input) where
// nothing fits the memory that the cluster has.
[[nodiscard]] SearchedSchedule searched_schedule(const SearchedRun& run, const Cluster& cluster,
                                                 const std::string& kept_in);

// Writes schedule and certificate to the folder, under their names in a run directory.
void keep_schedule(const std::string& csv, const Certificate& certificate,
                   const std::string& folder);

}  // namespace penstock
