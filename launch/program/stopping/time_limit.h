// launch/program/stopping/time_limit.h -- until when a run may go on: by --time-limit, or by what
// the batch system says in the environment. Pure: environment and clocks come in.
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

// "90" or "1.5" (minutes), "1:30:00", "2-12:00:00"; nothing when it is none of these.
[[nodiscard]] std::optional<Seconds> parse_time_limit(const std::string& text);

struct TimeLimit {
  std::optional<WallTime> end = {};  // nothing: there is no limit
  std::string from = {};             // "--time-limit", "SLURM_JOB_END_TIME"
  bool of_job = false;               // the batch system ends the job then
};
struct TimeLimitFacts {
  std::function<const char*(const char* name)> environment;  // null where it is not set
  WallTime program_start;                                    // --time-limit counts from here
  // The start of the job, as far as can be told: that of the oldest ancestor process that has the
  // same value of that variable.
  std::function<WallTime(const char* variable)> job_start;
};
// `option` is run.time_limit: auto | none | what parse_time_limit() reads. Throws Error(Input).
[[nodiscard]] TimeLimit time_limit(const std::string& option, const TimeLimitFacts& facts);
// The same with the facts of this process.
[[nodiscard]] TimeLimit time_limit(const std::string& option);

// Called before the first step of a run: throws Error(Stopped) where the batch job is past its end
// and a step would be cut off.
void refuse_past_end(const TimeLimit& limit, WallTime now);

// How long before the end no step may begin any more: twice the longest step so far, evaluations
// included, and two and a half times a checkpoint (one that may be under way, the last one, and
// half of one as a reserve).
[[nodiscard]] Seconds stopping_margin(Seconds longest_step, Seconds checkpoint);

}  // namespace penstock
