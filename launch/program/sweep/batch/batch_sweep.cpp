#include "launch/program/sweep/batch/batch_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "launch/program/output.h"
#include "launch/program/sweep/batch/job_script.h"
#include "launch/program/sweep/child.h"
#include "launch/program/sweep/launch_words.h"
#include "runtime/records/sweep/outcome.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The beginning of what the batch system said.
std::string said_in(const std::string& path) {
  constexpr int64_t kMostSaid = 400;
  const InputFile file(path);
  std::string text(static_cast<size_t>(std::min(kMostSaid, file.size_bytes())), '\0');
  file.read(0, text.data(), text.size());
  return one_line(text);
}

// Returns what the batch system said.
std::string submitted(const SweepFile& sweep, const PointRun& run, const std::string& directory) {
  constexpr int kMostMs = 120'000;
  const std::string script = directory + "/" + kJobScript;
  std::vector<std::string> words = run_words(sweep.submit, sweep, run);
  const bool by_input = words.back() == "<";
  if (by_input) {
    words.pop_back();
  } else {
    words.push_back(script);
  }
  const std::string said = directory + "/" + kSubmittedFile + ".new";
  std::error_code error;
  fs::remove(said, error);
  Child child(words, said, by_input ? script : "/dev/null");
  if (!child.ends_within(kMostMs) || child.exit_code() != 0) {
    const std::string text = said_in(said);
    fail_resource(
        fmt::format("{}: '{}' does not take it: {}; submit by the same sweep again when "
                    "that is mended",
                    script, sweep.submit, text.empty() ? "nothing was said" : text));
  }
  // The job is taken: whatever fails from here on must not have it submitted again in silence.
  fs::rename(said, directory + "/" + kSubmittedFile, error);
  if (error) {
    fail_resource(
        fmt::format("{} is submitted, but {}/{} cannot be written: {}; make it, or the "
                    "next sweep submits the job again",
                    script, directory, kSubmittedFile, error.message()));
  }
  return said_in(directory + "/" + kSubmittedFile);
}

void make_executable(const std::string& script) {
  std::error_code error;
  fs::permissions(script, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add,
                  error);
  if (error) fail_resource(script + " cannot be made executable: " + error.message());
}

JobSize size_of_job(const SweepFile& sweep, const SweepPoint& point) {
  const PointNodes nodes = nodes_of(sweep, point).value_or(PointNodes{});
  return {.nodes = nodes.nodes,
          .ranks_per_node = nodes.ranks_per_node,
          .gpus_per_node = sweep.gpus_per_node,
          .time_s = sweep.walltime_s};
}

// A time limit of the run file is said again, since a script that finds none said gives its own.
std::vector<std::string> words_of_job(const SweepFile& sweep, const Config& config) {
  std::vector<std::string> words = extra_words(sweep);
  if (config.run.time_limit != "auto") {
    words.insert(words.end(), {"--time-limit", config.run.time_limit});
  }
  return words;
}

bool is_wanted(const Outcome& outcome, bool again) {
  if (outcome.state == PointState::Waiting) return true;
  return again && outcome.state != PointState::Skipped && outcome.state != PointState::Running &&
         outcome.state != PointState::Finished;
}

}  // namespace

void submit_points(const SweepFile& sweep, const DrawnSweep& drawn, const std::string& directory,
                   bool again) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const SweepRecord& record = drawn.record;
  const std::string script = read_text(sweep.script, kMostBytes, FileOwner::User);
  const std::string scripts = fs::absolute(sweep.script).lexically_normal().parent_path().string();
  if (sweep.submit.empty()) answer("Without sweep.submit, these lines submit the jobs:\n");
  for (int repeat = 1; repeat <= record.repeats; ++repeat) {
    for (size_t i = 0; i < record.points.size(); ++i) {
      const SweepPoint& point = record.points[i];
      if (!is_wanted(outcome_of(directory, point, repeat, record.warmup), again)) continue;
      const PointRun run{.point = point, .repeat = repeat};
      const std::string folder =
          fs::absolute(run_directory(directory, point, repeat)).lexically_normal().string();
      const JobScript job = job_script(script, size_of_job(sweep, point), run,
                                       {.program = this_program(),
                                        .directory = folder,
                                        .scripts = scripts,
                                        .more = words_of_job(sweep, drawn.configs[i])});
      replace_file(folder + "/" + kJobScript, job.text);
      make_executable(folder + "/" + kJobScript);
      if (sweep.submit.empty()) {
        answer("{}\n", job.submit);
      } else {
        answer("{}: {}\n", run.name(), submitted(sweep, run, folder));
      }
    }
  }
}

}  // namespace penstock
