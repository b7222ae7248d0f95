#include "launch/program/sweep/batch_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "launch/program/output.h"
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
std::string submitted(const SweepFile& sweep, const SweepPoint& point,
                      const std::string& directory) {
  constexpr int kMostMs = 120'000;
  const std::string script = directory + "/" + kJobScript;
  std::vector<std::string> words = point_words(sweep.submit, sweep, point);
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

bool is_wanted(const Outcome& outcome, bool again) {
  if (outcome.state == PointState::Waiting) return true;
  return again && outcome.state != PointState::Skipped && outcome.state != PointState::Running &&
         outcome.state != PointState::Finished;
}

}  // namespace

void submit_points(const SweepFile& sweep, const SweepRecord& record, const std::string& directory,
                   bool again) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const std::string script = read_text(sweep.script, kMostBytes, FileOwner::User);
  const std::string scripts = fs::absolute(sweep.script).lexically_normal().parent_path().string();
  for (const SweepPoint& point : record.points) {
    if (!is_wanted(outcome_of(directory, point, record.warmup), again)) continue;
    const std::string folder =
        fs::absolute(point_directory(directory, point)).lexically_normal().string();
    const std::string job = folder + "/" + kJobScript;
    replace_file(job, job_script(script, point, {this_program(), folder, scripts}));
    std::error_code error;
    fs::permissions(job, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add,
                    error);
    if (error) fail_resource(job + " cannot be made executable: " + error.message());
    answer("{}: {}\n", point.name, sweep.submit.empty() ? job : submitted(sweep, point, folder));
  }
}

}  // namespace penstock
