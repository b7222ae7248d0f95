#include "runtime/records/report/reading/run_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "kernels/error.h"
#include "runtime/records/report/reading/file_lines.h"
#include "runtime/records/run_directory/identity.h"
#include "runtime/records/run_directory/lock/lock_file.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostSummaryBytes = 256 << 20;
constexpr int64_t kMostRunFileBytes = 1 << 20;
constexpr int64_t kMostTraceBytes = 64 << 20;  // room for half a million instructions
constexpr size_t kLogLines = 40;

int64_t change_of_file(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? static_cast<int64_t>(info.st_mtime) : 0;
}

void read_trace(const std::string& path, RunFiles& files) {
  if (!fs::exists(path)) return;
  const int64_t size = InputFile(path, FileOwner::Run).size_bytes();
  if (size > kMostTraceBytes) {
    files.trace_note = fmt::format(
        "trace.json has {}, too much for this page: open it in Perfetto (ui.perfetto.dev)",
        bytes_text(size));
    return;
  }
  TraceReader reader;
  bool is_first = true;
  read_lines(path, [&](std::string_view line, const std::string& where) {
    if (is_first && !line.starts_with("{\"traceEvents\"")) {
      fail_data(where + ": this is no trace that penstock wrote");
    }
    is_first = false;
    reader.add(line, where);
  });
  if (is_first) fail_data(path + ": this is no trace that penstock wrote");
  files.trace = reader.finish();
}

// Returns which attempt wrote the summary, or 1 if the summary does not say. That attempt may be an
// earlier one than the last.
int64_t summarised_attempt(const nlohmann::json& summary) {
  const auto found = summary.find("attempt");
  return found != summary.end() && found->is_number_integer() ? found->get<int64_t>() : 1;
}

RunState state_of(const RunFiles& files) {
  if (!files.holder.empty()) return RunState::Running;
  if (!files.summary || summarised_attempt(*files.summary) < files.attempts) return RunState::Ended;
  const auto stopped = files.summary->find("stopped");
  const bool was_stopped = stopped != files.summary->end() && stopped->is_string();
  return was_stopped ? RunState::Stopped : RunState::Finished;
}

}  // namespace

const char* word_of(RunState state) {
  switch (state) {
    case RunState::Running:
      return "running";
    case RunState::Finished:
      return "finished";
    case RunState::Stopped:
      return "stopped";
    default:
      return "failed";
  }
}

RunFiles read_run_files(const std::string& directory) {
  const std::string metrics = directory + "/" + kMetricsFile;
  if (!fs::is_directory(directory)) fail_input(directory + ": there is no such run directory");
  if (fs::exists(directory + "/" + kDryRunFile)) {
    fail_input(
        directory + " is of a dry run, which trained nothing: " + kDryRunFile +
        " in it has the figures, and trace.json the steps, for chrome://tracing or Perfetto");
  }
  if (!fs::exists(metrics)) {
    fail_input(metrics + " does not exist: " + directory + " is not the directory of a run");
  }
  RunFiles files{.directory = directory, .read_at_s = static_cast<int64_t>(std::time(nullptr))};
  // The holder of the lock is read before the results: a run that ends in between is shown as
  // running, not as failed.
  if (const auto holder = living_holder(directory + "/" + kLockFile)) {
    files.holder = fmt::format("{}, process {}", holder->host, holder->process);
  }
  files.last_write_s = change_of_file(metrics);
  HistoryReader history;
  files.torn_line = read_lines(
      metrics, [&](std::string_view line, const std::string& where) { history.add(line, where); });
  files.history = history.finish();
  const std::string summary = directory + "/summary.json";
  if (fs::exists(summary)) {
    files.summary = read_json_file(summary, kMostSummaryBytes, FileOwner::Run);
  }
  if (const auto identity = read_identity(directory)) {
    files.attempts = identity->attempts;
    files.total_steps = identity->length.steps;
  }
  for (const AttemptSpan& span : files.history.attempts) {
    files.attempts = std::max(files.attempts, span.attempt);
  }
  if (files.summary) files.attempts = std::max(files.attempts, summarised_attempt(*files.summary));
  const std::string run_file = directory + "/" + kRunFile;
  if (fs::exists(run_file)) files.run_toml = read_text(run_file, kMostRunFileBytes, FileOwner::Run);
  read_trace(directory + "/trace.json", files);
  files.log = last_lines(directory + "/" + kLogFile, kLogLines);
  files.state = state_of(files);
  return files;
}

}  // namespace penstock
