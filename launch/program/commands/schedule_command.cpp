// launch/program/commands/schedule_command.cpp -- see schedule_command.h.
#include "launch/program/commands/schedule_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdlib>
#include <filesystem>

#include "kernels/error.h"
#include "kernels/parse_number.h"
#include "launch/program/help/flag.h"
#include "launch/program/options/comma_list.h"
#include "launch/program/options/settings.h"
#include "launch/program/planning/schedule_search.h"
#include "runtime/planning/drawing/answer.h"
#include "runtime/planning/drawing/json.h"
#include "runtime/planning/drawing/page.h"
#include "runtime/planning/drawing/svg.h"
#include "runtime/planning/drawing/terminal.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/text/csv.h"
#include "runtime/planning/schedule/well_formed.h"
#include "runtime/records/telemetry/trace_json.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

// Holds the command line as it was given, before it is checked.
struct ScheduleOptions {
  ScheduleSettings settings;
  std::string times = "1,1,1";
  std::string stage_ranks;
  std::string format = "text";
  bool json = false;
  bool search = false;
  SearchRequest searched;
  std::string verified;  // the certificate of --verify-certificate
};

CommandOptions schedule_options_into(ScheduleOptions& request) {
  ScheduleSettings& settings = request.settings;
  CommandOptions options;
  options.add_options()("stages", po::value(&settings.stages)->value_name("K"),
                        "parts of the network [4]")(
      "micro-batches", po::value(&settings.micro_batches)->value_name("M"),
      "of one step and replica [8]")(
      "schedule", po::value(&settings.schedule)->value_name("NAME"),
      fmt::format("{} [1f1b]; or a CSV file, as --format csv writes it, with its own sizes",
                  fmt::join(schedule_names(), " | "))
          .c_str())("chunks", po::value(&settings.chunks)->value_name("V"),
                    "stages per rank; 0: what the schedule has [0]")(
      "stage-ranks", po::value(&request.stage_ranks)->value_name("N,.."),
      "the rank of each stage, both counted from 0, where ranks do not all hold equally many: "
      "0,0,1,2,2; of --search and looped-bfs")(
      "warm-up", po::value(&settings.warm_up)->value_name("W"),
      "of 1f1b and zb-h1: forwards that the first rank runs ahead beyond the usual, and the others "
      "in proportion [0]")("recompute", po::value(&settings.recompute)->value_name("MODE"),
                           "none | stage | layer [none]")(
      "times", po::value(&request.times)->value_name("F,B,W"),
      "of a rank's layers on one micro-batch: forward, and the "
      "input and weight halves of backward, "
      "in any one unit [1,1,1]")("latency", po::value(&settings.latency)->value_name("c"),
                                 "of a message, in that unit [0]")(
      "format", po::value(&request.format)->value_name("FORMAT"),
      R"([text] what to write to standard output:
text: a drawing in letters, with its figures
csv: the compute instructions, a line per rank
pytorch: the same for torch.distributed.pipelining, which reads it with _load_csv
svg: a drawing for papers and pages
html: a page that explains it, with everything inside: sliders for all of the above, time to play back, and traces of real runs to open
json: programs, times and memory
trace: the predicted times, for Perfetto, chrome://tracing and that page)")(
      "json", flag(request.json), "--format json")(
      "search", flag(request.search),
      "a schedule searched for the costs of --costs, or of equal stages with --chunks on a rank "
      "or on --stage-ranks, and a bound that says how much shorter another one can be")(
      "costs", po::value(&request.searched.costs)->value_name("FILE"),
      "of --search: times by stage, bytes held, links and limits, as JSON")(
      "certificate", po::value(&request.searched.certificate)->value_name("FILE"),
      "of --search: where to write schedule and bound, to be checked by --verify-certificate")(
      "search-seconds", po::value(&request.searched.seconds)->value_name("S"),
      "of --search: the most that it may take [10]")(
      "seed", po::value(&request.searched.seed)->value_name("N"), "of --search: of its dice [1]")(
      "verify-certificate", po::value(&request.verified)->value_name("FILE"),
      "checks a certificate, for the costs of --costs where given, and searches nothing");
  return options;
}

void read_times(ScheduleOptions& request) {
  ScheduleSettings& settings = request.settings;
  char comma1 = 0;
  char comma2 = 0;
  std::istringstream in(request.times);
  in >> settings.forward >> comma1 >> settings.backward_input >> comma2 >> settings.backward_weight;
  if (in.fail() || !(in >> std::ws).eof() || comma1 != ',' || comma2 != ',') {
    fail_input("schedule: --times must be three numbers F,B,W of at least 0, not " + request.times);
  }
}

// Reads the rank of each stage, and with that how many stages there are.
void read_stage_ranks(ScheduleOptions& request) {
  const std::vector<std::string> words = split_at_commas(request.stage_ranks);
  if (words.empty()) return;
  for (const std::string& word : words) {
    const std::optional<int> rank = parse_number<int>(word);
    if (!rank || *rank < 0 || *rank >= kMaxStages) {
      fail_input(
          "schedule: --stage-ranks must be ranks, counted from 0 and with commas between "
          "them, not " +
          request.stage_ranks);
    }
    request.settings.stage_ranks.push_back(*rank);
  }
  request.settings.stages = static_cast<int>(std::ssize(request.settings.stage_ranks));
}

// Returns whether `schedule` is a file. A name of schedule_names() stands for that schedule, even
// if a file has the same name.
bool is_file(const std::string& schedule) {
  const std::vector<std::string> names = schedule_names();
  if (std::find(names.begin(), names.end(), schedule) != names.end()) return false;
  return schedule.find_first_of("/.") != std::string::npos;
}

// Reads the CSV file that `schedule` names. Then `schedule` is set to the file's name without its
// folders.
void read_csv(ScheduleSettings& settings) {
  settings.csv = read_text(settings.schedule, kMostScheduleBytes, FileOwner::User);
  if (settings.csv.empty()) fail_input(settings.schedule + " is empty: it has no instructions");
  settings.schedule = std::filesystem::path(settings.schedule).filename();
}

// Whether the option is on the command line.
bool is_given(const std::vector<std::string>& arguments, const std::string& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return argument == option || argument.starts_with(option + "=");
  });
}

// Refuses options that the others leave without meaning.
void check_together(const ScheduleOptions& request, const std::vector<std::string>& arguments) {
  const auto refuse = [&](std::initializer_list<const char*> options, const char* why) {
    for (const char* const option : options) {
      if (is_given(arguments, option)) fail_input(fmt::format("schedule: {} {}", option, why));
    }
  };
  const bool verifies = !request.verified.empty();
  if (request.json && request.format != "json") {
    refuse({"--format"}, "names another format than --json: give one of the two");
  }
  if (!request.search) {
    refuse({"--certificate", "--search-seconds", "--seed"}, "goes with --search");
    if (!verifies) refuse({"--costs"}, "goes with --search or --verify-certificate");
  }
  if (verifies) {
    refuse({"--search", "--schedule", "--stages", "--micro-batches", "--chunks", "--stage-ranks",
            "--warm-up", "--recompute", "--times", "--latency", "--format", "--json"},
           "does not go with --verify-certificate, which checks one file");
  }
  if (request.format == "html" && request.settings.warm_up > 0) {
    fail_input(
        "schedule: --format html has no --warm-up: it shows 1f1b-deep and zb-h2, whose warm-up is "
        "twice that of 1f1b and zb-h1");
  }
  if (is_file(request.settings.schedule)) {
    refuse({"--stages", "--micro-batches", "--chunks", "--stage-ranks"},
           "does not go with a schedule in a file, which has its own sizes");
  }
  if (!request.stage_ranks.empty()) {
    refuse({"--stages", "--chunks"}, "follows from --stage-ranks, the rank of each stage");
  }
  if (!request.search) return;
  refuse({"--warm-up"},
         "deepens a known schedule, and --search looks for one: leave out one of the two");
  refuse({"--schedule"}, "names a schedule, and --search looks for one: leave out one of the two");
  if (!request.searched.costs.empty()) {
    refuse({"--stages", "--micro-batches", "--chunks", "--stage-ranks", "--recompute", "--times",
            "--latency"},
           "does not go with --costs, whose file says it");
  }
}

ScheduleOptions schedule_options(const std::vector<std::string>& arguments) {
  ScheduleOptions request;
  const auto rest = read_options(schedule_form(), schedule_options_into(request), arguments);
  if (!rest.empty()) {
    fail_input("schedule: takes no argument like '" + rest.front() +
               "'; see penstock schedule --help");
  }
  check_together(request, arguments);
  if (request.json) request.format = "json";
  read_times(request);
  read_stage_ranks(request);
  if (is_file(request.settings.schedule)) read_csv(request.settings);
  return request;
}

// Returns the simulation as a trace of one step, beside that of another schedule unless it is null.
// A unit of the simulation's time becomes a millisecond.
std::string as_trace(const ScheduleAnswer& answer, const ScheduleAnswer* beside = nullptr) {
  Trace trace{.about = {{"schedule", answer.settings.schedule},
                        {"stages", std::to_string(answer.schedule.stages)},
                        {"micro_batches", std::to_string(answer.schedule.micro_batches)}},
              .processes = {{.name = "predicted", .steps = {{.timeline = answer.timeline}}}},
              .seconds_per_unit = 1e-3};
  if (beside != nullptr) {
    trace.processes.push_back({.name = "predicted, " + beside->settings.schedule,
                               .steps = {{.timeline = beside->timeline}}});
  }
  return trace_json(trace);
}

struct Format {
  const char* name;
  std::string (*write)(const ScheduleAnswer&, const TerminalStyle&);
};
constexpr Format kFormats[] = {
    {"text",
     [](const auto& answer, const auto& terminal) { return terminal_text(answer, terminal); }},
    {"csv", [](const auto& answer, const auto&) { return to_csv(answer.schedule); }},
    {"pytorch", [](const auto& answer, const auto&) { return to_pytorch_csv(answer.schedule); }},
    {"svg", [](const auto& answer, const auto&) { return svg(answer); }},
    {"html", [](const auto& answer, const auto&) { return page(answer); }},
    {"json", [](const auto& answer, const auto&) { return answer_json(answer) + "\n"; }},
    {"trace", [](const auto& answer, const auto&) { return as_trace(answer); }},
};

const Format& find_format(const std::string& name) {
  for (const Format& format : kFormats) {
    if (name == format.name) return format;
  }
  fail_input("schedule: --format must be text, csv, pytorch, svg, html, json or trace, not " +
             name);
}

// Returns what was found in the format, with the best known schedule beside it where the format
// has room for two.
std::string search_text(const SearchAnswer& found, const std::string& format,
                        const TerminalStyle& terminal) {
  const ScheduleAnswer* known = found.known ? &*found.known : nullptr;
  if (format == "json") return search_json(found) + "\n";
  if (format == "svg") return svg(found.answer, known);
  if (format == "html") return search_page(found);
  if (format == "trace") return as_trace(found.answer, known);
  if (format == "csv") return to_csv(found.answer.schedule);
  if (format == "pytorch") return to_pytorch_csv(found.answer.schedule);
  const std::string text = terminal_text(found.answer, terminal) + search_figures(found);
  return known != nullptr ? text + "\n" + terminal_text(*known, terminal) : text;
}

}  // namespace

std::string schedule_text(const std::vector<std::string>& arguments,
                          const TerminalStyle& terminal) {
  const ScheduleOptions request = schedule_options(arguments);
  if (!request.verified.empty()) {
    return verified_certificate(request.verified, request.searched.costs);
  }
  const Format& format = find_format(request.format);
  if (request.search) {
    return search_text(search_schedule(request.searched, request.settings), request.format,
                       terminal);
  }
  return format.write(answer(request.settings), terminal);
}

TerminalStyle standard_output() {
  if (isatty(STDOUT_FILENO) != 1) return {};
  const char* no_colour = std::getenv("NO_COLOR");
  winsize size{};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  return {.columns = size.ws_col, .colours = no_colour == nullptr || *no_colour == '\0'};
}

const CommandForm& schedule_form() {
  static const CommandForm form{
      .name = "schedule",
      .summary = "what every rank would do in a step, drawn and timed",
      .about =
          R"(Prints what every rank would do in one step, proved free of deadlock, and how long it would take.
Needs no ranks. With --search it looks for a schedule where stages, ranks or links are unlike.
)",
      .takes_keys = false,
      .options = unread(schedule_options_into)};
  return form;
}

}  // namespace penstock
