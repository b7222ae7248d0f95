// launch/program/planning/plan_command.cpp -- see plan_command.h.
#include "launch/program/planning/plan_command.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "kernels/device_model.h"
#include "kernels/error.h"
#include "launch/program/help/flag.h"
#include "launch/program/hub/folder_run.h"
#include "launch/program/options/command_line.h"
#include "launch/program/planning/plan_json.h"
#include "launch/program/planning/plan_replay.h"
#include "launch/program/planning/plan_table.h"
#include "launch/program/planning/profile_file.h"
#include "launch/program/processor/measured_speed.h"
#include "launch/program/runs/kept_run.h"
#include "launch/program/runs/planned_run.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/engine/measurements/outlook.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/records/hub/weights.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

struct PlanOptions {
  int ranks = 0;
  std::string memory;
  std::string device = "cpu";
  std::string profile;
  std::optional<int> nodes, ranks_per_node;  // all ranks on one node when neither is given
  size_t top = 20;
  ReplayOptions replay;
  bool json = false;
  std::vector<std::string> rest;  // the run file and its keys
};

// The number of ranks on a node; 0: all ranks are on one node.
int ranks_of_a_node(const PlanOptions& request) {
  if (request.ranks_per_node && *request.ranks_per_node < 1) {
    fail_input(
        fmt::format("plan: --ranks-per-node is how many ranks share a node, at least 1, not {}",
                    *request.ranks_per_node));
  }
  if (!request.nodes) return request.ranks_per_node.value_or(0);
  const int nodes = *request.nodes;
  if (nodes < 1 || request.ranks % nodes != 0) {
    fail_input(
        fmt::format("plan: --nodes is how many nodes the {} ranks are on, equally many on each, "
                    "not {}; how many ranks share a node is --ranks-per-node",
                    request.ranks, nodes));
  }
  const int each = request.ranks / nodes;
  if (request.ranks_per_node.value_or(each) != each) {
    fail_input(
        fmt::format("plan: {} ranks on --nodes {} are {} on each, not --ranks-per-node {}: "
                    "give one of the two",
                    request.ranks, nodes, each, *request.ranks_per_node));
  }
  return each;
}

CommandOptions plan_options_into(PlanOptions& request) {
  CommandOptions options;
  options.add_options()("ranks", po::value(&request.ranks)->value_name("N"), "ranks of the run")(
      "device-memory", po::value(&request.memory)->value_name("SIZE"),
      "of each, e.g. 80GiB [what the device model has]")(
      "device-model", po::value(&request.device)->value_name("NAME"),
      "h200 | h100 | b200 | a100 | rtx-4090 | v100-16gb | v100-32gb | p100 | tpu-v2 | tpu-v3 | cpu "
      "(this machine's) [cpu]")("profile", po::value(&request.profile)->value_name("FILE"),
                                "times and links measured by penstock profile")(
      "nodes", po::value<int>()->notifier([&](int n) { request.nodes = n; })->value_name("N"),
      "how many nodes the ranks are on, equally many on each [1]")(
      "ranks-per-node",
      po::value<int>()->notifier([&](int n) { request.ranks_per_node = n; })->value_name("N"),
      "the same, said by how many ranks share a node")(
      "top", po::value(&request.top)->value_name("N"), "how many to list [20]");
  request.replay.add_to(options);
  options.add_options()("json", flag(request.json), "everything that was looked at, for programs");
  return options;
}

PlanOptions plan_options(const std::vector<std::string>& arguments) {
  PlanOptions request;
  request.rest = read_options(plan_form(), plan_options_into(request), arguments);
  if (request.ranks < 1) {
    fail_input("plan: say for how many ranks, at least 1: penstock plan RUNFILE.toml --ranks N");
  }
  if (request.top < 1) fail_input("plan: --top is how many to list, at least 1");
  check(request.replay);
  (void)ranks_of_a_node(request);
  return request;
}

// The speed of this machine's processor, where the plan is for it; else none.
ProcessorSpeed planned_speed(const PlanOptions& request, const RunConfig& config, int threads) {
  if (request.device != "cpu" || !config.measure_processor) return {};
  const int each = ranks_of_a_node(request);
  return speed_for_ranks(each > 0 ? std::min(each, request.ranks) : request.ranks, threads);
}

Cluster described(const PlanOptions& request, const DeviceModel& device, const Profile* profile) {
  Cluster cluster = cluster_of(device, profile);
  cluster.ranks_per_node = ranks_of_a_node(request);
  if (!request.memory.empty()) cluster.memory_bytes = parse_bytes(request.memory);
  return cluster;
}

std::string heading(const Config& config, const PlanOptions& request, const PlanRequest& plan_for,
                    const Plan& plan, const DeviceModel& device) {
  return fmt::format("{} with {:.4g} M parameters, mini-batch {} on {} rank{} ({}{})\n",
                     config.model.kind, static_cast<double>(plan.parameters) / 1e6,
                     plan_for.mini_batch, request.ranks, request.ranks == 1 ? "" : "s", device.name,
                     request.profile.empty() ? ", counted" : ", measured: " + request.profile);
}

// What audits and copies in memory, where the run file asks for them, take in the fastest run.
std::string safeguards(const Config& config, const PlanRequest& request, const Plan& plan) {
  const PlannedCandidate* best = plan.best();
  if (best == nullptr) return "";
  const Arrangement& fastest = best->candidate;
  std::string text;
  if (config.run.audit > 0) {
    Arrangement unaudited = fastest;
    unaudited.audit = 0;
    const Prediction without = predict(unaudited, request.costs(fastest.cut()), request.cluster);
    text += "fastest: " + audits_text(best->prediction, config.run) + "; they take " +
            bytes_text(best->prediction.fullest_bytes() - without.fullest_bytes()) +
            " of the fullest rank's memory\n";
  }
  if (config.checkpoint.partner) {
    const CopyCosts copies = copy_costs(best->prediction, fastest, request.cluster);
    text += "fastest: " +
            copies_text(copies, best->prediction.mean_step_s, config.checkpoint.partner_every) +
            "\n";
  }
  return text;
}

// Plans for one replica where the run file asks for what several cannot do; returns what is to be
// said of it.
std::string keep_to_one_replica(const Config& config, PlanRequest& request) {
  if (!config.model.norm_replicas || (config.run.audit == 0 && !request.exact)) return "";
  if (request.replicas.value_or(1) != 1) return "";  // refused, as a run would be
  request.replicas = 1;
  return fmt::format("one replica alone: model.norm_replicas does not go with {}\n",
                     request.exact ? "pipeline.reduction = \"exact\"" : "run.audit");
}

}  // namespace

int64_t parse_bytes(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},      {"B", 1},        {"MB", 1e6},     {"GB", 1e9},
                             {"TB", 1e12}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  for (const Unit& known : kUnits) {
    const double bytes = number * known.bytes;
    if (error == std::errc() && unit == known.name && bytes >= 1 && bytes < 0x1p62) {
      return std::llround(bytes);
    }
  }
  fail_input("an amount of memory is written 80GiB, 16GB or in plain bytes, not " + text);
}

std::string plan_text(const std::vector<std::string>& arguments, const ModelMaker& models) {
  const PlanOptions request = plan_options(arguments);
  std::vector<std::string> keys = request.rest;
  keys.insert(keys.end(), {"--pipeline.auto", "true"});  // its sizes are ours to choose
  Settings settings = read_settings(keys, true, DataRead::Nothing);
  settings.config = with_kept_sizes(settings.config);
  const Config& config = settings.config;
  std::optional<Profile> profile;
  if (!request.profile.empty()) profile = read_profile(request.profile);
  const Profile* known = profile ? &*profile : nullptr;
  const int threads = known != nullptr ? known->threads : std::max(1, config.run.threads);
  const DeviceModel device =
      device_model_named(request.device, threads, planned_speed(request, config.run, threads));

  const ModelInput input = models.input(config.model);
  // The vocabulary, 0 where the data do not tell: then the network must say it.
  const int64_t vocabulary = known_vocabulary(config.data);
  const auto model =
      std::make_shared<Sequential>(models.build(config.model, vocabulary, config.model.classes));
  check_model(*model, input, config.pipeline.micro_batch_size);
  // The config.json is enough of a model whose weights have not been downloaded yet.
  if (has_hub_weights(config.model.from)) check_model_folder(config, models);

  PlanRequest asked = plan_request(config, request.ranks, described(request, device, known),
                                   costs_by_cut(config, model, input, device, known));
  pin_what_was_asked_for(settings, asked);
  const std::string restriction = keep_to_one_replica(config, asked);
  Config whole = config;
  whole.pipeline.replicas = asked.replicas.value_or(1);
  if (!asked.micro_batches) whole.pipeline.micro_batches = 1;  // the plan's to choose
  check_together(whole);
  asked.wanted = static_cast<int>(request.top);
  const Plan found = plan(asked);
  const std::vector<Replayed> replays = replayed(request.replay, found, asked);
  if (request.json) {
    const CopiesOf copies_of = [&](const PlannedCandidate& of) {
      return copy_costs(of.prediction, of.candidate, asked.cluster);
    };
    return plan_json(found, replays, config.checkpoint.partner ? copies_of : nullptr);
  }
  const std::string left_out =
      replays.empty() || config.run.audit == 0 ? "" : "replayed steps are without audits\n";
  return heading(config, request, asked, found, device) + restriction +
         plan_table(found, request.top) + replay_table(replays, found, request.replay) + left_out +
         safeguards(config, asked, found);
}

const CommandForm& plan_form() {
  static const CommandForm form{
      .name = "plan",
      .operand = "RUNFILE.toml --ranks N",
      .summary = "which stages x replicas, schedule and split would be fastest",
      .about =
          R"(Which run to ask for: every stages x replicas x micro-batches x schedule x recompute for the
mini-batch of the run file on N ranks, with the split of layers that fits each, fastest first. Needs
no ranks.
)",
      .closing =
          "Keys of the run file given here (--stages 8, --schedule zb-v, ...) are kept as they "
          "are.\n",
      .options = unread(plan_options_into)};
  return form;
}

}  // namespace penstock
