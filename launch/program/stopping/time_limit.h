// launch/program/stopping/time_limit.h -- TimeLimit: until when a run may go on, by --time-limit or
// by what the batch system says in the environment. Pure: the caller gives environment and clocks.
//
//   Slurm   SLURM_JOB_END_TIME, seconds since 1970
//   PBS     PBS_WALLTIME (Torque), seconds from the job's start
//   LSF     says nothing; it sends SIGUSR2 at the limit and kills ten minutes later
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace penstock {

using WallTime = std::chrono::system_clock::time_point;
using Seconds = std::chrono::duration<double>;

// The time that "90" or "1.5" (minutes), "1:30:00" (h:m:s) or "2-12:00:00" (days) means; nothing
// when the text has none of these forms.
[[nodiscard]] std::optional<Seconds> parse_time_limit(const std::string& text);

struct TimeLimit {
  std::optional<WallTime> end = {};  // nothing: there is no limit
  std::string from = {};             // what says so: "--time-limit", "SLURM_JOB_END_TIME"
  bool of_job = false;               // the batch system ends the job then
};
// What the limit is worked out from.
struct TimeLimitFacts {
  std::function<const char*(const char* name)> environment;  // null where it is not set
  WallTime program_start;                                    // --time-limit counts from here
  // The start of the job, as far as can be told: the start of this process's oldest ancestor that
  // has the same value of the environment variable.
  std::function<WallTime(const char* variable)> job_start;
};
// `option` is run.time_limit: auto | none | what parse_time_limit() reads. Throws Error(Input).
[[nodiscard]] TimeLimit time_limit(const std::string& option, const TimeLimitFacts& facts);
// The limit by the facts of this process.
[[nodiscard]] TimeLimit time_limit(const std::string& option);

// Called before the first step of a run: throws Error(Stopped) where the batch job's end is past,
// so that a step would be cut off.
void refuse_past_end(const TimeLimit& limit, WallTime now);

// The time before the end in which no step may begin: twice the longest step so far, evaluations
// included, and two and a half times a checkpoint (one that may be under way, the last one, and
// half of one as a reserve).
[[nodiscard]] Seconds stopping_margin(Seconds longest_step, Seconds checkpoint);

}  // namespace penstock
