#include "runtime/records/report/reading/recorded_steps.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr int kMostRanks = 1'000'000;

double time_of(const json& event, const char* key, const std::string& where) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number() || !std::isfinite(found->get<double>())) {
    fail_data(where + ": \"" + key + "\" is not a time");
  }
  return found->get<double>() / 1e3;
}

int small_number(const json& object, const char* key, const std::string& where) {
  const uint64_t value = json_count(object, key, where);
  if (value > kMostRanks) fail_data(where + ": \"" + key + "\" is too large");
  return static_cast<int>(value);
}

std::optional<Op> op_called(const std::string& name) {
  for (int op = 0; op <= static_cast<int>(Op::OptimizerStep); ++op) {
    if (name == name_of(static_cast<Op>(op))) return static_cast<Op>(op);
  }
  return std::nullopt;
}

// Finds the last character of the name that is one of `marks`. Returns the number behind it, or -1
// if there is none.
int number_behind(const std::string& name, const char* marks) {
  const size_t at = name.find_last_of(marks);
  int value = -1;
  if (at != std::string::npos) {
    std::from_chars(name.data() + at + 1, name.data() + name.size(), value);
  }
  return value;
}

int replica_in(const std::string& rank_name) {
  const size_t at = rank_name.find("replica ");
  return at == std::string::npos ? 0 : std::max(0, number_behind(rank_name.substr(at), " "));
}

// Returns the instruction that an event records, or nothing if its op is not known.
std::optional<RecordedSpan> span_of(const json& event, const json& args, const std::string& where) {
  const std::optional<Op> op = op_called(json_text(args, "op", where));
  if (!op) return std::nullopt;
  RecordedSpan span{.name = json_text(event, "name", where),
                    .start_ms = time_of(event, "ts", where)};
  span.end_ms = span.start_ms + time_of(event, "dur", where);
  span.instruction.op = *op;
  if (args.contains("stage")) span.instruction.stage = small_number(args, "stage", where);
  if (args.contains("micro_batch")) {
    span.instruction.micro_batch = small_number(args, "micro_batch", where);
  }
  if (args.contains("bytes")) {
    span.bytes = static_cast<int64_t>(
        std::min<uint64_t>(json_count(args, "bytes", where), std::numeric_limits<int64_t>::max()));
  }
  if (is_message(*op)) span.instruction.peer = number_behind(span.name, "<>");
  return span;
}

}  // namespace

void TraceReader::add(std::string_view line, const std::string& where) {
  if (!line.starts_with("{\"ph\"")) return;  // the line is a frame around the events
  if (line.ends_with(',')) line.remove_suffix(1);
  const json event = parse_json(line, where);
  const std::string kind = json_text(event, "ph", where);
  if (kind != "M" && kind != "X") return;
  Process& process = processes_[small_number(event, "pid", where)];
  const int thread = small_number(event, "tid", where);
  const auto args = event.find("args");
  if (args == event.end() || !args->is_object()) return;
  if (kind == "M") {
    const std::string what = json_text(event, "name", where);
    if (what == "process_name") process.name = json_text(*args, "name", where);
    if (what == "thread_name") name_thread(process, thread, *args, where);
  } else if (args->contains("op")) {
    const auto known = process.rank_of_thread.find(thread);
    const int rank = known == process.rank_of_thread.end() ? thread : known->second;
    const int64_t step = args->contains("step") ? small_number(*args, "step", where) : 0;
    if (auto span = span_of(event, *args, where)) {
      process.steps[step][rank].push_back(std::move(*span));
    }
  }
}

// Notes the rank of a thread. A rank may have several threads in the trace, one for each stream;
// then the thread's arguments name the rank. Otherwise the thread's number is the rank.
void TraceReader::name_thread(Process& process, int thread, const json& args,
                              const std::string& where) {
  const bool streams = args.contains("rank");
  const int rank = streams ? small_number(args, "rank", where) : thread;
  process.rank_of_thread[thread] = rank;
  process.rank_names[rank] = json_text(args, streams ? "rank_name" : "name", where);
}

std::vector<RecordedStep> TraceReader::finish() {
  std::map<int64_t, RecordedStep> steps;
  for (auto& [pid, process] : processes_) {
    for (auto& [number, ranks] : process.steps) {
      RecordedProcess& part = steps[number].processes.emplace_back();
      part.name = process.name;
      for (auto& [rank, spans] : ranks) {
        const std::string& name = process.rank_names[rank];
        part.ranks.push_back({.name = name.empty() ? "rank " + std::to_string(rank) : name,
                              .replica = replica_in(name),
                              .spans = std::move(spans)});
      }
    }
  }
  processes_.clear();
  std::vector<RecordedStep> result;
  for (auto& [number, step] : steps) {
    step.step = number;
    result.push_back(std::move(step));
  }
  return result;
}

}  // namespace penstock
