#include "launch/program/stopping/time_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "kernels/error.h"
#include "kernels/parse_number.h"
#include "runtime/system/files/proc.h"

namespace penstock {
namespace {

template <class Number>
std::optional<Number> whole(std::string_view text) {
  const std::optional<Number> number = parse_number<Number>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// Returns the time that a text such as "1:30:00" or "30:00" means, or nothing if the text has no
// such form.
std::optional<Seconds> clock_time(std::string_view text) {
  double seconds = 0.0;
  for (int parts = 1;; ++parts) {
    const size_t colon = text.find(':');
    const auto part = whole<int64_t>(text.substr(0, colon));
    if (!part || parts > 3 || (parts > 1 && *part > 59)) return std::nullopt;
    seconds = 60.0 * seconds + static_cast<double>(*part);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  return Seconds(seconds);
}

WallTime after(WallTime start, Seconds length) {
  return start + std::chrono::duration_cast<WallTime::duration>(length);
}

// Holds the facts that /proc tells of a process.
struct ProcessFacts {
  int64_t parent = 0;
  double started_s = 0.0;  // seconds after the boot
  std::vector<std::string> environment;
};
std::optional<ProcessFacts> facts_of(int64_t process) {
  const std::vector<std::string> fields = process_fields(process);
  if (fields.size() <= kProcessStart) return std::nullopt;
  ProcessFacts facts;
  facts.parent = std::atoll(fields[kProcessParent].c_str());
  facts.started_s =
      std::atof(fields[kProcessStart].c_str()) / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::istringstream environment(system_text(fmt::format("/proc/{}/environ", process)));
  for (std::string one; std::getline(environment, one, '\0');) facts.environment.push_back(one);
  return facts;
}

WallTime boot_time() {
  const double seconds = std::atof(system_line("/proc/uptime").c_str());
  return after(std::chrono::system_clock::now(), Seconds(-seconds));
}

// Returns when the job started. The job's processes are this process, its parent, and so on, up to
// the last ancestor in a row that has the same value of `variable`. That last one gives the time.
WallTime start_of_job(const char* variable) {
  const char* value = variable == nullptr ? nullptr : std::getenv(variable);
  const std::string wanted = value == nullptr ? "" : fmt::format("{}={}", variable, value);
  double started_s = 0.0;
  for (int64_t process = getpid(); process > 1;) {
    const std::optional<ProcessFacts> facts = facts_of(process);
    if (!facts) break;
    const bool of_the_job =
        process == getpid() || (!wanted.empty() && std::ranges::find(facts->environment, wanted) !=
                                                       facts->environment.end());
    if (!of_the_job) break;
    started_s = facts->started_s;
    process = facts->parent;
  }
  return after(boot_time(), Seconds(started_s));
}

}  // namespace

std::optional<Seconds> parse_time_limit(const std::string& text) {
  if (const auto minutes = whole<double>(text)) {
    return *minutes < 1e9 ? std::optional(Seconds(60.0 * *minutes)) : std::nullopt;
  }
  const size_t dash = text.find('-');
  if (dash == std::string::npos) return clock_time(text);
  const auto days = whole<int64_t>(std::string_view(text).substr(0, dash));
  // Slurm reads D-HH and D-HH:MM with the hours first, so ":00" is added for what is missing.
  std::string clock = text.substr(dash + 1);
  for (auto colons = std::ranges::count(clock, ':'); colons < 2; ++colons) clock += ":00";
  const auto rest = clock_time(clock);
  if (!days || !rest || *days > 100'000) return std::nullopt;
  return Seconds(86'400.0 * static_cast<double>(*days)) + *rest;
}

TimeLimit time_limit(const std::string& option, const TimeLimitFacts& facts) {
  if (option == "none") return {};
  if (option != "auto") {
    const std::optional<Seconds> length = parse_time_limit(option);
    if (!length) {
      fail_input(fmt::format(
          "run.time_limit is auto, none, minutes, HH:MM:SS or D-HH:MM:SS, not '{}'", option));
    }
    return {after(facts.program_start, *length), "--time-limit"};
  }
  const auto number = [&](const char* name) {
    const char* text = facts.environment(name);
    return text == nullptr ? std::nullopt : whole<int64_t>(text);
  };
  if (const auto end = number("SLURM_JOB_END_TIME")) {
    return {WallTime(std::chrono::seconds(*end)), "SLURM_JOB_END_TIME", true};
  }
  if (const auto length = number("PBS_WALLTIME")) {
    return {after(facts.job_start("PBS_JOBID"), Seconds(static_cast<double>(*length))),
            "PBS_WALLTIME", true};
  }
  return {};
}

TimeLimit time_limit(const std::string& option) {
  return time_limit(option, {.environment = [](const char* name) { return std::getenv(name); },
                             .program_start = start_of_job(nullptr),
                             .job_start = start_of_job});
}

void refuse_past_end(const TimeLimit& limit, WallTime now) {
  if (!limit.of_job || !limit.end || now < *limit.end) return;
  throw Error(
      ErrorKind::Stopped,
      fmt::format("the batch job's time was over {:.0f} s ago, as {} says: no step is taken "
                  "and nothing is lost; start again in a job that has time left, or with "
                  "--time-limit none",
                  std::floor(Seconds(now - *limit.end).count()), limit.from));
}

Seconds stopping_margin(Seconds longest_step, Seconds checkpoint) {
  return 2.0 * longest_step + 2.5 * checkpoint;
}

}  // namespace penstock
