// runtime/records/telemetry/trace_json.cpp -- see trace_json.h.
#include "runtime/records/telemetry/trace_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/records/telemetry/formats/trace_flows.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

std::string dump_line(const Json& json) {
  return shown_json(json);
}

// Writes the events of one array, one event a line.
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
  if (op == Op::Audit) return "audit";
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

// These are the tracks of a rank in the picture, from top to bottom.
enum class Stream : uint8_t { Compute, Receive, Send, Reduce, Update };
constexpr std::array<const char*, 5> kStreams = {"compute", "receive", "send", "reduce", "update"};

Stream stream_of(Op op) {
  if (is_compute(op) || op == Op::Audit) return Stream::Compute;
  if (is_send(op)) return Stream::Send;
  if (is_message(op)) return Stream::Receive;
  return op == Op::ReduceGradients ? Stream::Reduce : Stream::Update;
}

size_t thread_of(size_t rank, Stream stream) {
  return rank * kStreams.size() + static_cast<size_t>(stream);
}

void write_thread(Events& events, const TracedProcess& process, int pid, size_t rank,
                  size_t stream) {
  const std::string name =
      rank < process.rank_names.size() ? process.rank_names[rank] : "rank " + std::to_string(rank);
  const auto tid = static_cast<int>(thread_of(rank, static_cast<Stream>(stream)));
  name_it(events, "thread_name", pid, tid,
          {{"name", name + " " + kStreams[stream]},
           {"rank", rank},
           {"rank_name", name},
           {"stream", kStreams[stream]}});
  name_it(events, "thread_sort_index", pid, tid, {{"sort_index", tid}});
}

void write_names(Events& events, const TracedProcess& process, int pid) {
  name_it(events, "process_name", pid, 0, {{"name", process.name}});
  name_it(events, "process_sort_index", pid, 0, {{"sort_index", pid}});
  std::vector<std::array<bool, kStreams.size()>> used;  // used[rank][stream]
  for (const TracedStep& step : process.steps) {
    used.resize(std::max(used.size(), step.timeline.rank.size()));
    for (size_t rank = 0; rank < step.timeline.rank.size(); ++rank) {
      for (const TimedInstruction& span : step.timeline.rank[rank]) {
        if (!takes_time(span)) continue;
        used[rank][static_cast<size_t>(stream_of(span.instruction.op))] = true;
      }
    }
  }
  for (size_t rank = 0; rank < used.size(); ++rank) {
    for (size_t stream = 0; stream < kStreams.size(); ++stream) {
      if (used[rank][stream]) write_thread(events, process, pid, rank, stream);
    }
  }
}

// Writes the events of one process's steps.
class StepWriter {
 public:
  StepWriter(Events& events, const TracedProcess& process, int pid, double microseconds_per_unit)
      : events_(events),
        process_(process),
        pid_(pid),
        microseconds_per_unit_(microseconds_per_unit) {}

  void slices(const TracedStep& step) {
    for (size_t rank = 0; rank < step.timeline.rank.size(); ++rank) {
      for (size_t i = 0; i < step.timeline.rank[rank].size(); ++i) slice(step, rank, i);
    }
  }
  // Writes an arrow for each message. Arrows are numbered from `id` on. Afterwards `id` is the next
  // free number.
  void flows(const TracedStep& step, int64_t& id) {
    for (const TraceFlow& flow : flows_of(step.timeline, process_.replicas)) {
      const char* what = flow.activation ? "activation" : "gradient";
      Json start = end_of_flow("s", what, id, step, flow.from_rank, flow.from);
      Json end = end_of_flow("f", what, id, step, flow.to_rank, flow.to);
      end["bp"] = "e";  // it ends at the slice around it, not at the next slice
      events_.add(start);
      events_.add(end);
      ++id;
    }
  }

 private:
  void slice(const TracedStep& step, size_t rank, size_t index) {
    const TimedInstruction& span = step.timeline.rank[rank][index];
    if (!takes_time(span)) return;
    const Op op = span.instruction.op;
    Json args = arguments(span.instruction, step.step);
    const bool knows_bytes = rank < step.bytes.size() && index < step.bytes[rank].size();
    if (knows_bytes) args["bytes"] = step.bytes[rank][index];
    events_.add({{"ph", "X"},
                 {"name", text(span.instruction)},
                 {"cat", category(op)},
                 {"pid", pid_},
                 {"tid", thread_of(rank, stream_of(op))},
                 {"ts", time(step, span.start)},
                 {"dur", microseconds_per_unit_ * (span.end - span.start)},
                 {"args", std::move(args)}});
    // A sum runs beside the program, so its end tells nothing of the program's memory.
    if (!knows_bytes || op == Op::ReduceGradients) return;
    events_.add({{"ph", "C"},
                 {"name", "rank " + std::to_string(rank) + " memory"},
                 {"pid", pid_},
                 {"ts", time(step, span.end)},
                 {"args", {{"bytes", step.bytes[rank][index]}}}});
  }
  [[nodiscard]] double time(const TracedStep& step, double units) const {
    return 1e6 * step.start + microseconds_per_unit_ * units;
  }
  // Returns one end of an arrow. A viewer attaches it to the slice in which it lies, so it is put a
  // nanosecond inside the slice. It is near the beginning of a send, since a send may be
  // interrupted once the message is on its way, and near the end of a receive, when the message is
  // there.
  [[nodiscard]] Json end_of_flow(const char* kind, const char* what, int64_t id,
                                 const TracedStep& step, size_t rank, size_t index) const {
    const TimedInstruction& span = step.timeline.rank[rank][index];
    constexpr double kInside_us = 1e-3;
    const double begin = time(step, span.start);
    const double end = time(step, span.end);
    const double inside = std::min(kInside_us, 1e-3 * (end - begin));
    return {{"ph", kind},
            {"name", what},
            {"cat", "message"},
            {"id", id},
            {"pid", pid_},
            {"tid", thread_of(rank, stream_of(span.instruction.op))},
            {"ts", is_send(span.instruction.op) ? begin + inside : end - inside}};
  }

  Events& events_;
  const TracedProcess& process_;
  int pid_;
  double microseconds_per_unit_;
};

}  // namespace

void write_trace(std::ostream& out, const Trace& trace) {
  out << R"({"traceEvents": [)";
  Events events(out);
  int64_t flow = 1;
  for (size_t p = 0; p < trace.processes.size(); ++p) {
    const int pid = static_cast<int>(p);
    write_names(events, trace.processes[p], pid);
    StepWriter writer(events, trace.processes[p], pid, 1e6 * trace.seconds_per_unit);
    for (const TracedStep& step : trace.processes[p].steps) {
      writer.slices(step);
      writer.flows(step, flow);
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
