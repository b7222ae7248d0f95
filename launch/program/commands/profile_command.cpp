// launch/program/commands/profile_command.cpp -- `penstock profile`: every layer measured on every
// rank at once, and the links between ranks.
#include <fmt/format.h>

#include <array>
#include <boost/program_options.hpp>
#include <optional>

#include "launch/program/commands/commands.h"
#include "launch/program/commands/profile_file.h"
#include "launch/program/device_choice.h"
#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "launch/program/setup.h"
#include "runtime/blueprint/layout.h"
#include "runtime/costs/layer_costs.h"
#include "runtime/costs/link_times.h"
#include "runtime/telemetry/output_file.h"
#include "runtime/training/data_source.h"

namespace penstock {
namespace {

struct ProfileOptions {
  std::string out = "profile.json";
  Arguments rest;  // the run file and its keys
};

CommandOptions options_of(ProfileOptions& request) {
  CommandOptions options;
  options.add_options()("profile-out",
                        boost::program_options::value(&request.out)->value_name("FILE"),
                        "where the figures go, as JSON [profile.json]");
  return options;
}

ProfileOptions profile_options(const Arguments& arguments) {
  ProfileOptions request;
  request.rest = read_options(profile_form(), options_of(request), arguments);
  if (request.out.empty()) fail_input("--profile-out needs the name of a file");
  return request;
}

// Stages wait for one another, so what counts is what the ranks take together: the mean.
void average(Collective& world, ModelCosts& costs) {
  constexpr double LayerCost::*kTimes[] = {&LayerCost::forward_s, &LayerCost::backward_input_s,
                                           &LayerCost::backward_weight_s, &LayerCost::backward_s,
                                           &LayerCost::update_s};
  std::vector<double> values;
  for (const LayerCost& layer : costs.layers) {
    for (double LayerCost::*time : kTimes) values.push_back(layer.*time / world.size());
  }
  world.sum(values);
  size_t next = 0;
  for (LayerCost& layer : costs.layers) {
    for (double LayerCost::*time : kTimes) layer.*time = values[next++];
  }
}

// The first rank and the first other one whose host is the same, or is another.
std::optional<std::array<int, 2>> pair(const std::vector<std::string>& hosts, bool same) {
  for (size_t a = 0; a < hosts.size(); ++a) {
    for (size_t b = a + 1; b < hosts.size(); ++b) {
      if ((hosts[a] == hosts[b]) == same) return {{static_cast<int>(a), static_cast<int>(b)}};
    }
  }
  return std::nullopt;
}

std::vector<std::string> hosts_of(Collective& world, const Session& session) {
  std::string all;
  for (const std::string& host : world.gather_text(session.host())) all += host + '\n';
  all = world.broadcast(all, 0);
  std::vector<std::string> hosts;
  for (size_t at = 0; at < all.size();) {
    const size_t end = all.find('\n', at);
    hosts.push_back(all.substr(at, end - at));
    at = end + 1;
  }
  return hosts;
}

void measure_links(Network& network, const Session& session, Device& device, Profile& profile) {
  const std::vector<std::string> hosts = hosts_of(network.world(), session);
  if (const auto ranks = pair(hosts, true)) {
    profile.within_node = measure_link(network, (*ranks)[0], (*ranks)[1], device);
  }
  if (const auto ranks = pair(hosts, false)) {
    profile.between_nodes = measure_link(network, (*ranks)[0], (*ranks)[1], device);
    profile.between_nodes.receiver_copies = false;  // a network card moves the bytes
  }
}

ModelCosts measure_layers(const Config& config, const ModelMaker& models, Collective& world,
                          Device& device) {
  const DataSource source(config, models, world);
  ModelInput input;
  Sequential model;
  on_every_rank([&] {
    input = models.input(config.model);
    model = models.build(config.model, source.facts().vocabulary, source.facts().classes);
    check_model(model, input, config.pipeline.micro_batch_size);
  });
  const DType dtype = config.run.precision == "bf16" ? DType::BF16 : DType::F32;
  ModelCosts costs = measured_costs(model, input, config.pipeline.micro_batch_size, dtype,
                                    config.optimizer, device, [&world] { world.barrier(); });
  average(world, costs);
  return costs;
}

}  // namespace

int profile_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const std::unique_ptr<Network> all = starting_network(session);
  Collective& world = all->world();
  const ProfileOptions request = on_every_rank([&] { return profile_options(arguments); });
  const Config asked = shared_config(world, request.rest, true);
  const std::string beside = std::filesystem::absolute(request.out).parent_path().string();
  const Config config =
      with_vocabulary(world, asked, asked.run.out.empty() ? beside : asked.run.out);
  const ThreadPlan plan = shared_threads(world, session, config.run.threads);
  const std::string who = fmt::format("rank {} (host {})", session.rank(), session.host());
  std::unique_ptr<Device> device;
  const DeviceChoice choice = choose_device(world, session, config.run.device);
  refuse_sharing(choice, config.run);
  agree(world, who, [&] { device = open_device(choice, plan.threads, config.run); });
  const Grid grid{.positions = session.ranks()};
  const std::unique_ptr<Network> network = make_mpi_network(
      session, grid,
      on_every_rank([&] { return plan_links(config.pipeline.link, choice.ranks, grid); }),
      watched_waits(config.run));
  try {
    Profile profile;
    profile.threads = plan.threads;
    profile.precision = config.run.precision;
    profile.costs = measure_layers(config, models, world, *device);
    measure_links(*network, session, *device, profile);
    (void)on_first_rank(world, [&] {
      replace_file(request.out, profile_text(profile));
      answer("{}written to {}\n", profile_table(profile), request.out);
      return std::string();
    });
  } catch (...) {
    if (session.ranks() == 1) throw;
    rethrow_naming(who);
  }
  return 0;
}

const CommandForm& profile_form() {
  static const CommandForm form{
      .name = "profile",
      .operand = "RUNFILE.toml",
      .summary = "time and memory of every layer here, and of the links between ranks",
      .about =
          R"(Measures every layer of the network at the run's micro-batch size and precision, one layer at a
time, so a network larger than a device can be measured too; trains nothing. Any number of ranks:
all measure at once, as a run would load the machine, and the mean is written. With two ranks or
more the links between them are measured as well, within a host and between two.
)",
      .needs_ranks = true};
  return form;
}

CommandOptions profile_command_options() {
  ProfileOptions unused;
  return options_of(unused);
}

}  // namespace penstock
