// runtime/telemetry/trace_json.cpp -- see trace_json.h.
#include "runtime/telemetry/trace_json.h"

#include <nlohmann/json.hpp>
#include <sstream>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string dump_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Writes the events of one array, one a line.
class Events {
 public:
  explicit Events(std::ostream& out) : out_(out) {}
  void add(const Json& event) {
    out_ << (first_ ? "\n" : ",\n") << dump_line(event);
    first_ = false;
  }

 private:
  std::ostream& out_;
  bool first_ = true;
};

const char* category(Op op) {
  if (is_compute(op)) return "compute";
  return op == Op::OptimizerStep ? "update" : "communication";
}

Json arguments(const Instruction& instruction, int64_t step) {
  Json args = {{"op", name_of(instruction.op)}};
  if (instruction.stage >= 0) args["stage"] = instruction.stage;
  if (instruction.micro_batch >= 0) args["micro_batch"] = instruction.micro_batch;
  args["step"] = step;
  return args;
}

void name_it(Events& events, const char* what, int pid, int tid, const Json& args) {
  events.add({{"ph", "M"}, {"name", what}, {"pid", pid}, {"tid", tid}, {"args", args}});
}

void write_names(Events& events, const TracedProcess& process, int pid) {
  name_it(events, "process_name", pid, 0, {{"name", process.name}});
  name_it(events, "process_sort_index", pid, 0, {{"sort_index", pid}});
  size_t ranks = 0;
  for (const TracedStep& step : process.steps) ranks = std::max(ranks, step.timeline.rank.size());
  for (size_t rank = 0; rank < ranks; ++rank) {
    const std::string name = rank < process.rank_names.size() ? process.rank_names[rank]
                                                              : "rank " + std::to_string(rank);
    name_it(events, "thread_name", pid, static_cast<int>(rank), {{"name", name}});
    name_it(events, "thread_sort_index", pid, static_cast<int>(rank), {{"sort_index", rank}});
  }
}

void write_step(Events& events, const TracedStep& step, int pid, double microseconds_per_unit) {
  for (size_t rank = 0; rank < step.timeline.rank.size(); ++rank) {
    for (const TimedInstruction& span : step.timeline.rank[rank]) {
      if (span.end <= span.start) continue;
      events.add({{"ph", "X"},
                  {"name", text(span.instruction)},
                  {"cat", category(span.instruction.op)},
                  {"pid", pid},
                  {"tid", rank},
                  {"ts", 1e6 * step.start + microseconds_per_unit * span.start},
                  {"dur", microseconds_per_unit * (span.end - span.start)},
                  {"args", arguments(span.instruction, step.step)}});
    }
  }
}

}  // namespace

void write_trace(std::ostream& out, const Trace& trace) {
  out << R"({"traceEvents": [)";
  Events events(out);
  for (size_t p = 0; p < trace.processes.size(); ++p) {
    const int pid = static_cast<int>(p);
    write_names(events, trace.processes[p], pid);
    for (const TracedStep& step : trace.processes[p].steps) {
      write_step(events, step, pid, 1e6 * trace.seconds_per_unit);
    }
  }
  Json about = Json::object();
  for (const auto& [key, value] : trace.about) about[key] = value;
  out << "\n],\n\"displayTimeUnit\": \"ms\",\n\"otherData\": " << dump_line(about) << "}\n";
}

std::string trace_json(const Trace& trace) {
  std::ostringstream out;
  write_trace(out, trace);
  return std::move(out).str();
}

}  // namespace penstock
