// launch/schedule_command.cpp -- see schedule_command.h.
#include "launch/schedule_command.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernels/error.h"
#include "runtime/schedule/draw.h"
#include "runtime/schedule/generators.h"
#include "runtime/schedule/lower.h"
#include "runtime/schedule/simulate.h"
#include "runtime/schedule/verify.h"

namespace penstock {
namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

struct Request {
  int stages = 4;
  int micro_batches = 8;
  int chunks = 0;
  std::string schedule = "1f1b";
  std::string recompute = "none";
  std::string times = "1,1,1";
  double latency = 0.0;
  std::string format = "text";
};

po::options_description option_table(Request& request) {
  po::options_description options;
  options.add_options()  //
      ("stages", po::value(&request.stages)->value_name("K"))(
          "micro-batches", po::value(&request.micro_batches)->value_name("M"))(
          "chunks", po::value(&request.chunks)->value_name("V"))(
          "schedule", po::value(&request.schedule)->value_name("NAME"))(
          "recompute", po::value(&request.recompute)->value_name("MODE"))(
          "times", po::value(&request.times)->value_name("F,B,W"))(
          "latency", po::value(&request.latency)->value_name("c"))(
          "format", po::value(&request.format)->value_name("FORMAT"))("json", "");
  return options;
}

Request parse(const std::vector<std::string>& arguments) {
  Request request;
  const po::options_description options = option_table(request);
  constexpr int kStyle =
      po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments)
                  .options(options)
                  .positional(po::positional_options_description())
                  .style(kStyle)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::error& error) {
    fail_input(std::string("schedule: ") + error.what() + "; see penstock schedule --help");
  }
  if (values.count("json") > 0) request.format = "json";
  if (request.format != "text" && request.format != "csv" && request.format != "json") {
    fail_input("schedule: --format must be text, csv or json, not " + request.format);
  }
  if (request.recompute != "none" && request.recompute != "stage" && request.recompute != "layer") {
    fail_input("schedule: --recompute must be none, stage or layer, not " + request.recompute);
  }
  return request;
}

// Times are those of all layers of a rank; a stage is one of its `chunks` equal parts.
StageTimes stage_times(const Request& request, int chunks) {
  double forward = 0.0;
  double input = 0.0;
  double weight = 0.0;
  char comma1 = 0;
  char comma2 = 0;
  std::istringstream in(request.times);
  in >> forward >> comma1 >> input >> comma2 >> weight;
  const bool whole = !in.fail() && (in >> std::ws).eof() && comma1 == ',' && comma2 == ',';
  if (!whole || !(forward >= 0.0 && input >= 0.0 && weight >= 0.0)) {
    fail_input("schedule: --times must be three numbers F,B,W of at least 0, not " + request.times);
  }
  return {.forward = forward / chunks,
          .recompute = forward / chunks,
          .backward_input = input / chunks,
          .backward_weight = weight / chunks,
          .backward = (input + weight) / chunks};
}

struct Answer {
  Schedule lowered;
  Timeline timeline;
  std::vector<int> peak_stash;
};

Answer answer(const Request& request) {
  const int chunks = request.chunks > 0 ? request.chunks : default_chunks(request.schedule);
  if (request.stages < 1 || request.stages % chunks != 0) {
    fail_input(
        fmt::format("schedule: --stages must be a multiple of the {} stages that a rank "
                    "holds with {}, not {}",
                    chunks, request.schedule, request.stages));
  }
  Answer result;
  result.lowered = lower(make_schedule(request.schedule, request.stages / chunks,
                                       request.micro_batches, request.chunks),
                         {.recompute = request.recompute != "none",
                          .keep_adjacent = request.recompute == "stage",
                          .update = true});
  result.peak_stash = verify(result.lowered).peak_stash;
  PipelineCosts costs;
  costs.stage.assign(static_cast<size_t>(result.lowered.stages), stage_times(request, chunks));
  costs.within_node.latency = request.latency;
  result.timeline = simulate(result.lowered, costs);
  return result;
}

std::vector<std::vector<std::string>> compute_programs(const Schedule& schedule) {
  std::vector<std::vector<std::string>> programs;
  for (const auto& program : schedule.program) {
    auto& texts = programs.emplace_back();
    for (const Instruction& instruction : program) {
      if (is_compute(instruction.op)) texts.push_back(text(instruction));
    }
  }
  return programs;
}

std::string as_json(const Answer& answer) {
  Json json;
  json["ranks"] = answer.lowered.ranks;
  json["stages"] = answer.lowered.stages;
  json["micro_batches"] = answer.lowered.micro_batches;
  json["programs"] = compute_programs(answer.lowered);
  json["makespan"] = makespan(answer.timeline);
  json["makespan_bubble"] = makespan_bubble(answer.timeline);
  json["span_bubble"] = span_bubble(answer.timeline);
  json["peak_stash"] = answer.peak_stash;
  return json.dump() + "\n";
}

// One line per rank, one compute instruction per cell: what other tools read and write.
std::string as_csv(const Answer& answer) {
  std::string csv;
  for (const auto& program : compute_programs(answer.lowered)) {
    csv += fmt::format("{}\n", fmt::join(program, ","));
  }
  return csv;
}

std::string as_text(const Request& request, const Answer& answer) {
  const double time = makespan(answer.timeline);
  const double bubble = makespan_bubble(answer.timeline);
  return fmt::format(
      "{}\n{} on {} ranks, {} micro-batches, F,B,W = {}, latency {:g}\n"
      "makespan    {:g}\nbubble      {:g} ({:.1f} %) of the makespan, {:g} of the longest span\n"
      "peak stash  {} (micro-batches x stages held, by rank)\n",
      draw(answer.lowered), request.schedule, answer.lowered.ranks, answer.lowered.micro_batches,
      request.times, request.latency, time, bubble, time > 0.0 ? 100.0 * bubble / time : 0.0,
      span_bubble(answer.timeline), fmt::join(answer.peak_stash, " "));
}

}  // namespace

std::string schedule_text(const std::vector<std::string>& arguments) {
  const Request request = parse(arguments);
  const Answer result = answer(request);
  if (request.format == "json") return as_json(result);
  if (request.format == "csv") return as_csv(result);
  return as_text(request, result);
}

std::string schedule_help() {
  return fmt::format(R"(usage: penstock schedule [--stages K] [--micro-batches M] [options]

Prints what every rank would do in one step, proved free of deadlock, and how long it would take.

  --stages K           parts of the network [4]
  --micro-batches M    of one step and replica [8]
  --schedule NAME      {} [1f1b]
  --chunks V           stages per rank; 0: what the schedule has [0]
  --recompute MODE     none | stage | layer [none]
  --times F,B,W        of a rank's layers on one micro-batch: forward, and the input and weight
                       halves of backward, in any one unit [1,1,1]
  --latency c          of a message, in that unit [0]
  --format FORMAT      text (a drawing) | csv | json [text]; --json for short
)",
                     fmt::join(schedule_names(), " | "));
}

}  // namespace penstock
