// launch/program/stopping/time_limit.h -- TimeLimit: until when a run may go on, by the option
// --time-limit or by what the batch system has put into the environment:
//   Slurm   SLURM_JOB_END_TIME, seconds since 1970
//   PBS     PBS_WALLTIME (Torque), seconds from the job's start
//   LSF     says nothing; it sends SIGUSR2 at the limit and kills ten minutes later
// Pure, except the functions without TimeLimitFacts: the caller gives environment and clocks.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace penstock {

using WallTime = std::chrono::system_clock::time_point;
using Seconds = std::chrono::duration<double>;

// The length of time that the text means: "90" or "1.5" (minutes), "1:30:00"
// (hours:minutes:seconds), "2-12:00:00" (days-hours:minutes:seconds), or "2-12" and "2-12:30",
// whose first number behind the days is one of hours, as Slurm has it; nothing when it has none of
// these forms.
[[nodiscard]] std::optional<Seconds> parse_time_limit(const std::string& text);

struct TimeLimit {
  std::optional<WallTime> end = {};  // nothing: there is no limit
  std::string from = {};             // what sets it: "--time-limit", "SLURM_JOB_END_TIME"
  bool of_job = false;               // whether the batch system ends the job at `end`
};
// What the limit is worked out from.
struct TimeLimitFacts {
  // The value of a variable; null where it is not set.
  std::function<const char*(const char* name)> environment;
  WallTime program_start;  // --time-limit counts from here
  // The start of the job, as well as it can be found out: that of this process's oldest ancestor
  // which has the same value of the environment variable.
  std::function<WallTime(const char* variable)> job_start;
};
// The limit of this run. `option` is run.time_limit: "auto" (the batch system's), "none", or a
// length of time as for parse_time_limit(). Throws Error(Input).
[[nodiscard]] TimeLimit time_limit(const std::string& option, const TimeLimitFacts& facts);
// The same by the facts of this process.
[[nodiscard]] TimeLimit time_limit(const std::string& option);

// Called before the first step of a run: throws Error(Stopped) where the batch job is past its end
// at `now`, so that a step would be cut off.
void refuse_past_end(const TimeLimit& limit, WallTime now);

// How long before the end no step may begin any more: twice the longest step so far, evaluations
// included, and two and a half times a checkpoint (one that may be under way, the last one, and
// half of one as a reserve).
[[nodiscard]] Seconds stopping_margin(Seconds longest_step, Seconds checkpoint);

}  // namespace penstock
