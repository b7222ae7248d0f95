// launch/program/commands/plan_command.cpp -- see plan_command.h.
#include "launch/program/commands/plan_command.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>

#include "kernels/device_model.h"
#include "kernels/error.h"
#include "launch/program/commands/plan_json.h"
#include "launch/program/commands/plan_replay.h"
#include "launch/program/commands/plan_table.h"
#include "launch/program/commands/profile_file.h"
#include "launch/program/kept_run.h"
#include "launch/program/options/command_line.h"
#include "launch/program/planned_run.h"
#include "runtime/blueprint/layout.h"
#include "runtime/blueprint/plan_request.h"
#include "runtime/costs/interconnects.h"
#include "runtime/data/text/vocabulary.h"

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

// 0: all ranks are on one node.
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

PlanOptions plan_options(const std::vector<std::string>& arguments) {
  PlanOptions request;
  po::options_description options;
  options.add_options()  //
      ("ranks", po::value(&request.ranks))("device-memory", po::value(&request.memory))(
          "device-model", po::value(&request.device))("profile", po::value(&request.profile))(
          "nodes", po::value<int>()->notifier([&](int n) { request.nodes = n; }))(
          "ranks-per-node", po::value<int>()->notifier([&](int n) { request.ranks_per_node = n; }))(
          "top", po::value(&request.top))("json", po::bool_switch(&request.json));
  options.add(request.replay.description());
  namespace style = po::command_line_style;
  try {
    po::variables_map values;
    const po::parsed_options parsed =
        po::command_line_parser(arguments)
            .options(options)
            .allow_unregistered()
            .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
            .run();
    po::store(parsed, values);
    po::notify(values);
    request.rest = po::collect_unrecognized(parsed.options, po::include_positional);
  } catch (const po::error& error) {
    fail_input(fmt::format("plan: {}; see penstock plan --help", error.what()));
  }
  if (request.ranks < 1) {
    fail_input("plan: say for how many ranks, at least 1: penstock plan RUNFILE.toml --ranks N");
  }
  if (request.top < 1) fail_input("plan: --top is how many to list, at least 1");
  check(request.replay);
  (void)ranks_of_a_node(request);
  return request;
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
  Settings settings = read_settings(request.rest, true, DataRead::Nothing);
  settings.config = with_kept_sizes(settings.config);
  const Config& config = settings.config;
  std::optional<Profile> profile;
  if (!request.profile.empty()) profile = read_profile(request.profile);
  const Profile* known = profile ? &*profile : nullptr;
  const int threads = known != nullptr ? known->threads : std::max(1, config.run.threads);
  const DeviceModel device = device_model_named(request.device, threads);

  const ModelInput input = models.input(config.model);
  // Networks for data that do not tell must say themselves.
  const int64_t vocabulary = known_vocabulary(config.data);
  const auto model =
      std::make_shared<Sequential>(models.build(config.model, vocabulary, config.model.classes));
  check_model(*model, input, config.pipeline.micro_batch_size);

  PlanRequest asked = plan_request(config, request.ranks, described(request, device, known),
                                   costs_by_size(config, model, input, device, known));
  pin_what_was_asked_for(settings, asked);
  asked.wanted = static_cast<int>(request.top);
  const Plan found = plan(asked);
  const std::vector<Replayed> replays = replayed(request.replay, found, asked);
  if (request.json) return plan_json(found, replays);
  return heading(config, request, asked, found, device) + plan_table(found, request.top) +
         replay_table(replays, found, request.replay);
}

std::string plan_help() {
  return R"(usage: penstock plan RUNFILE.toml --ranks N [options] [--section.key value ...]

Which run to ask for: every stages x replicas x micro-batches x schedule x recompute for the mini-batch of the
run file on N ranks, with the split of layers that fits each, fastest first. Needs no ranks.

  --ranks N              ranks of the run
  --device-memory SIZE   of each, e.g. 80GiB [what the device model has]
  --device-model NAME    h200 | h100 | a100 | v100-16gb | v100-32gb | p100 | tpu-v2 | tpu-v3 | cpu (this machine's) [cpu]
  --profile FILE         times and links measured by penstock profile
  --nodes N              how many nodes the ranks are on, equally many on each [1]
  --ranks-per-node N     the same, said by how many ranks share a node
  --top N                how many to list [20]
  --replay N             replay the N fastest as whole jobs, rank by rank, with shared network cards [0]
  --cards N              network cards of a node, shared by its ranks; 0: nothing is shared [1]
  --jitter X             deviation of every computation's time, as a share of it [0]
  --stragglers S,F       a share S of the nodes takes F times as long to compute
  --slow-node N,F        the network card of node N takes F times as long
  --replay-steps N       steps to replay where there is jitter [5]
  --node-mtbf HOURS      a node fails once in so long: says how often to write checkpoints, and the goodput
  --checkpoint-seconds T for which a checkpoint stops training [30]
  --restart-seconds T    from a failure to the next step [300]
  --json                 everything that was looked at, for programs

Keys of the run file given here (--stages 8, --schedule zb-v, ...) are kept as they are.
)";
}

}  // namespace penstock
