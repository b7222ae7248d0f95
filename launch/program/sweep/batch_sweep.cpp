#include "launch/program/sweep/batch_sweep.h"

#include <fmt/format.h>

#include <filesystem>

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

// What the batch system said.
std::string submitted(const SweepFile& sweep, const SweepPoint& point,
                      const std::string& directory) {
  constexpr int kMostMs = 120'000;
  constexpr size_t kMostSaid = 400;
  constexpr int64_t kMostBytes = 1 << 16;
  const std::string script = directory + "/" + kJobScript;
  std::vector<std::string> words = point_words(sweep.submit, sweep, point);
  const bool by_input = words.back() == "<";
  if (by_input) {
    words.pop_back();
  } else {
    words.push_back(script);
  }
  const std::string said = directory + "/" + kSubmittedFile + ".new";
  fs::remove(said);
  Child child(words, said, by_input ? script : "/dev/null");
  const bool ended = child.ends_within(kMostMs);
  std::string text = one_line(read_text(said, kMostBytes, FileOwner::Run)).substr(0, kMostSaid);
  if (!ended || child.exit_code() != 0) {
    fail_resource(
        fmt::format("{}: '{}' does not take it: {}; submit by the same sweep again when "
                    "that is mended",
                    script, sweep.submit, text.empty() ? "nothing was said" : text));
  }
  fs::rename(said, directory + "/" + kSubmittedFile);
  return text;
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
  for (const SweepPoint& point : record.points) {
    if (!is_wanted(outcome_of(directory, point, record.warmup), again)) continue;
    const std::string folder =
        fs::absolute(point_directory(directory, point)).lexically_normal().string();
    const std::string job = folder + "/" + kJobScript;
    replace_file(job, job_script(script, point, {this_program(), folder}));
    fs::permissions(job, fs::perms::owner_exec | fs::perms::group_exec, fs::perm_options::add);
    answer("{}: {}\n", point.name, sweep.submit.empty() ? job : submitted(sweep, point, folder));
  }
}

}  // namespace penstock
