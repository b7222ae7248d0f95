// launch/program/planning/plan/plan_command.cpp -- see plan_command.h.
#include "launch/program/planning/plan/plan_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <sstream>

#include "kernels/device_model.h"
#include "kernels/error.h"
#include "launch/program/help/flag.h"
#include "launch/program/hub/folder_run.h"
#include "launch/program/options/command_line.h"
#include "launch/program/planning/files/devices_file.h"
#include "launch/program/planning/files/profile_file.h"
#include "launch/program/planning/plan/cluster_options.h"
#include "launch/program/planning/plan/plan_json.h"
#include "launch/program/planning/plan/plan_replay.h"
#include "launch/program/planning/plan/plan_table.h"
#include "launch/program/processor/measured_speed.h"
#include "launch/program/runs/kept_run.h"
#include "launch/program/runs/planned_run.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/engine/measurements/outlook.h"
#include "runtime/network/models/active.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "runtime/planning/blueprint/forecast.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/plan/stages/stage_skips.h"
#include "runtime/records/hub/weights.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

struct PlanOptions {
  int ranks = 0;
  std::string device = "cpu";
  std::string profile;
  ClusterOptions cluster;
  int top = 20;
  ReplayOptions replay;
  bool json = false;
  std::vector<std::string> rest;  // the run file and its keys
};

CommandOptions plan_options_into(PlanOptions& request) {
  CommandOptions options;
  options.add_options()("ranks", po::value(&request.ranks)->value_name("N"), "ranks of the run")(
      "device-model", po::value(&request.device)->value_name("NAME"),
      fmt::format("{} [cpu, this machine's]", fmt::join(device_model_names(), " | ")).c_str())(
      "profile", po::value(&request.profile)->value_name("FILE"),
      "times and links measured by penstock profile")(
      "top", po::value(&request.top)->value_name("N"), "how many to list [20]");
  request.cluster.add_to(options);
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
  constexpr int kMostRanks = 1'000'000;  // stages are counted in an int, several on a rank
  if (request.ranks > kMostRanks) {
    fail_input(fmt::format("plan: --ranks is at most {}, not {}", kMostRanks, request.ranks));
  }
  if (request.top < 1) fail_input("plan: --top is how many to list, at least 1");
  check(request.replay);
  (void)ranks_of_a_node(request.cluster, request.ranks);
  return request;
}

// The speed of this machine's processor, where the plan is for it; else none.
ProcessorSpeed planned_speed(const PlanOptions& request, const RunConfig& config, int threads) {
  if (request.device != "cpu" || !config.measure_processor) return {};
  const int each = ranks_of_a_node(request.cluster, request.ranks);
  return speed_for_ranks(each > 0 ? std::min(each, request.ranks) : request.ranks, threads);
}

PlannedNetwork network_of(const Config& config, const Plan& plan) {
  PlannedNetwork network{.active_parameters = plan.parameters - idle_parameters(config.model),
                         .weights_files = {}};
  if (!config.model.from.empty()) {
    network.weights_files = folder_size(config.model.from, plan.parameters);
  }
  return network;
}

std::string heading(const Config& config, const PlanOptions& request, const PlanRequest& plan_for,
                    const Plan& plan, const PlannedNetwork& network, const Devices& devices) {
  const DeviceKind& first = devices.kinds.front();
  std::string basis = "counted";
  if (!devices.kind_of_rank.empty()) {
    basis = devices.basis;
  } else if (first.profile) {
    basis = fmt::format("measured: {}, on {}", request.profile, first.profile->costs.device);
  }
  std::string amount = count_text(static_cast<double>(plan.parameters)) + " parameters";
  if (network.active_parameters < plan.parameters) {
    amount += fmt::format(", {} of them active",
                          count_text(static_cast<double>(network.active_parameters)));
  }
  const std::string files =
      network.weights_files ? folder_size_text(config.model.from, *network.weights_files) : "";
  const std::string ranks = devices_text(devices);
  return fmt::format("{} with {}, mini-batch {} on {} rank{} ({}, {})\n{}{}{}", config.model.kind,
                     amount, plan_for.mini_batch, request.ranks, request.ranks == 1 ? "" : "s",
                     first.model.name, basis, ranks, ranks.empty() ? "" : "\n", files);
}

// What audits and copies in memory, where the run file asks for them, take in the fastest run.
std::string safeguards(const Config& config, const PlanRequest& request, const Plan& plan) {
  const PlannedCandidate* best = plan.best();
  if (best == nullptr) return "";
  const Arrangement& fastest = best->candidate;
  const ModelCosts costs = request.costs(fastest.cut());
  const Schedule schedule = schedule_of(fastest, stage_skips(fastest.split, costs.skips));
  std::istringstream lines(safeguards_text(
      safeguard_costs(config, best->prediction, fastest, schedule, costs, request.cluster),
      config));
  std::string text;
  for (std::string line; std::getline(lines, line);) text += "fastest: " + line + "\n";
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

PlanAnswer plan_answer(const std::vector<std::string>& arguments, const ModelMaker& models) {
  const PlanOptions request = plan_options(arguments);
  std::vector<std::string> keys = request.rest;
  keys.insert(keys.end(), {"--pipeline.auto", "true"});  // its sizes are ours to choose
  Settings settings = read_settings(keys, true, DataRead::Nothing);
  settings.config = with_kept_sizes(settings.config);
  const Config& config = settings.config;
  if (config.pipeline.schedule.ends_with(".csv")) {
    fail_input(settings.place_of("pipeline.schedule") + ": 'pipeline.schedule' is the file " +
               config.pipeline.schedule +
               ", and plan chooses among schedules that it knows by name: say --schedule NAME");
  }
  std::optional<Profile> profile;
  if (!request.profile.empty()) {
    profile = read_profile(request.profile);
    check_precision(*profile, request.profile, config.run.precision);
  }
  const Profile* known = profile ? &*profile : nullptr;
  const int threads = known != nullptr ? known->threads : std::max(1, config.run.threads);
  const DeviceKind usual{.model = device_model_named(request.device, threads,
                                                     planned_speed(request, config.run, threads)),
                         .profile = profile};
  const Devices devices = devices_of_run(config, request.ranks, usual, request.profile);

  const ModelInput input = models.input(config.model);
  // The vocabulary, 0 where the data do not tell: then the network must say it.
  const int64_t vocabulary = known_vocabulary(config.data);
  const auto model =
      std::make_shared<Sequential>(models.build(config.model, vocabulary, config.model.classes));
  check_model(config.model, *model, input, config.pipeline.micro_batch_size);
  // The config.json is enough of a model whose weights have not been downloaded yet.
  if (has_hub_weights(config.model.from)) check_model_folder(config, models);

  const DescribedCluster cluster =
      described(request.cluster, request.ranks, devices, request.profile);
  PlanRequest asked = plan_request(config, request.ranks, cluster.cluster,
                                   costs_by_cut(config, model, input, devices));
  pin_what_was_asked_for(settings, asked);
  const std::string restriction = keep_to_one_replica(config, asked);
  Config whole = config;
  whole.pipeline.replicas = asked.replicas.value_or(1);
  if (!asked.micro_batches) whole.pipeline.micro_batches = 1;  // the plan's to choose
  check_together(whole);
  asked.wanted = std::max(request.top, request.replay.candidates);
  const Plan found = plan(asked);
  const std::vector<Replayed> replays = replayed(request.replay, found, asked);
  const PlannedNetwork network = network_of(config, found);
  const int exit_code = found.best() == nullptr ? static_cast<int>(ErrorKind::Resource) : 0;
  if (request.json) {
    const CopiesOf copies_of = [&](const PlannedCandidate& of) {
      return copy_costs(of.prediction, of.candidate, asked.cluster);
    };
    return {plan_json(found, network, cluster, replays,
                      config.checkpoint.partner ? copies_of : nullptr, devices),
            exit_code};
  }
  return {heading(config, request, asked, found, network, devices) + cluster_text(cluster) +
              restriction + plan_table(found, request.top) +
              recommendation(found, asked.cluster, request.ranks) +
              replay_table(replays, found, asked.cluster, request.replay) +
              fastest_replayed(replays, found) + safeguards(config, asked, found),
          exit_code};
}

const CommandForm& plan_form() {
  static const CommandForm form{
      .name = "plan",
      .operand = "RUNFILE.toml --ranks N",
      .summary = "which stages x replicas, schedule and split would be fastest",
      .about =
          R"(Which run to ask for: every stages x replicas x micro-batches x schedule x recompute x placement for
the mini-batch of the run file on N ranks, with the split of layers that fits each, fastest first.
On several nodes each is replayed rank by rank, with the network cards that ranks share. Needs no
ranks.
)",
      .closing =
          "Keys of the run file given here (--stages 8, --schedule zb-v, ...) are kept as they "
          "are.\n--devices FILE says on which device each rank computes, where they are unlike.\n",
      .options = unread(plan_options_into)};
  return form;
}

}  // namespace penstock
