// launch/program/planning/profile_command.cpp -- `penstock profile`: every layer measured on every
// rank at once, and the links between ranks.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <optional>

#include "launch/program/commands/commands.h"
#include "launch/program/device_choice.h"
#include "launch/program/failure.h"
#include "launch/program/help/flag.h"
#include "launch/program/output.h"
#include "launch/program/planning/files/profile_file.h"
#include "launch/program/planning/profile_table.h"
#include "launch/program/setup.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/planning/costs/layer_costs.h"
#include "runtime/planning/costs/link_times.h"
#include "runtime/records/telemetry/quantile.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

struct ProfileOptions {
  std::string out = "profile.json";
  bool links = false;  // every one of the grid
  Arguments rest;      // the run file and its keys
};

CommandOptions profile_options_into(ProfileOptions& request) {
  CommandOptions options;
  options.add_options()("profile-out",
                        boost::program_options::value(&request.out)->value_name("FILE"),
                        "where the figures go, as JSON [profile.json]")(
      "links", flag(request.links),
      "every link of the run's stages x replicas, which must be the ranks: neighbours and "
      "replicas, "
      "message sizes down; plans then use the typical ones");
  return options;
}

ProfileOptions profile_options(const Arguments& arguments) {
  ProfileOptions request;
  request.rest = read_options(profile_form(), profile_options_into(request), arguments);
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

// The first pair of ranks on the same host, or on different hosts.
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

// Every neighbour of every pipeline, then every replica and the next of its group, once.
std::vector<ProfiledLink> links_of(const Grid& grid, const std::vector<std::string>& hosts) {
  std::vector<ProfiledLink> links;
  const auto add = [&](int first, int second, bool of_replicas) {
    const bool same = hosts[static_cast<size_t>(first)] == hosts[static_cast<size_t>(second)];
    links.push_back({first, second, of_replicas, same, {}});
  };
  for (int replica = 0; replica < grid.replicas; ++replica) {
    for (int p = 0; p + 1 < grid.positions; ++p) {
      add(grid.world_rank(p, replica), grid.world_rank(p + 1, replica), false);
    }
  }
  const int last = grid.replicas > 2 ? grid.replicas : grid.replicas - 1;  // a ring of them
  for (int p = 0; p < grid.positions; ++p) {
    for (int replica = 0; replica < last; ++replica) {
      add(grid.world_rank(p, replica), grid.world_rank(p, (replica + 1) % grid.replicas), true);
    }
  }
  return links;
}

// Takes for each message size the median over the links of that kind; nothing where there are none.
void take_typical(const std::vector<LinkMeasurement>& measured, const Profile& profile,
                  bool same_node, const Device& device, LinkTimes& typical) {
  LinkMeasurement median;
  for (size_t size = 0; size <= profile.link_bytes.size(); ++size) {
    std::vector<double> values;
    for (size_t l = 0; l < measured.size(); ++l) {
      if (profile.links[l].same_node != same_node) continue;
      values.push_back(size == 0 ? measured[l].posting_s : measured[l].messages[size - 1].seconds);
    }
    if (values.empty()) return;
    const double middle = quantile(std::move(values), 0.5);
    if (size == 0) {
      median.posting_s = middle;
    } else {
      median.messages.push_back({profile.link_bytes[size - 1], middle});
    }
  }
  typical = times_of(median, device);
  if (!same_node) typical.receiver_copies = false;  // a network card moves the bytes
}

void measure_every_link(Network& network, const Session& session, const Grid& grid, Device& device,
                        Profile& profile) {
  profile.links = links_of(grid, hosts_of(network.world(), session));
  std::vector<LinkEnds> ends;
  for (const ProfiledLink& link : profile.links) ends.push_back({link.first, link.second});
  // This effort takes some tenths of a second a link, of which there may be many.
  const LinkEffort effort{.bytes = int64_t{32} << 20, .repetitions = 100};
  const std::vector<LinkMeasurement> measured = measure_links(network, ends, device, effort);
  for (size_t l = 0; l < measured.size(); ++l) {
    for (const MessageTime& message : measured[l].messages) {
      if (l == 0) profile.link_bytes.push_back(message.bytes);
      profile.links[l].seconds.push_back(message.seconds);
    }
  }
  take_typical(measured, profile, true, device, profile.within_node);
  take_typical(measured, profile, false, device, profile.between_nodes);
}

ModelCosts measure_layers(const Config& config, const ModelMaker& models, Collective& world,
                          Device& device) {
  const DataSource source(config, models, world);
  ModelInput input;
  Sequential model;
  on_every_rank([&] {
    input = models.input(config.model);
    model = models.build(config.model, source.facts().vocabulary, source.facts().classes);
    check_model(config.model, model, input, config.pipeline.micro_batch_size);
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
  Config config = with_vocabulary(world, asked, asked.run.out.empty() ? beside : asked.run.out);
  config.run.dry_run = false;  // a profile measures
  Grid job;                    // the job whose links are wanted
  if (request.links) job = grid_of(config, session.ranks());
  const ThreadPlan plan = shared_threads(world, session, config.run);
  config.data.cut_threads = plan.threads;
  const std::string who = fmt::format("rank {} (host {})", session.rank(), session.host());
  std::unique_ptr<Device> device;
  const DeviceChoice choice = choose_device(world, session, config.run.device);
  refuse_sharing(choice, config.run);
  agree(world, who, [&] { device = open_device(choice, plan.threads, config.run); });
  const Grid grid{.positions = session.ranks()};
  const std::unique_ptr<Network> network = make_mpi_network(
      session, grid,
      on_every_rank([&] { return plan_links(config.pipeline.link, choice.ranks, grid); }),
      watched_waits(config.run, nap_of(plan)));
  try {
    Profile profile;
    profile.threads = plan.threads;
    profile.precision = config.run.precision;
    profile.costs = measure_layers(config, models, world, *device);
    if (request.links) {
      measure_every_link(*network, session, job, *device, profile);
    } else {
      measure_links(*network, session, *device, profile);
    }
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
      .needs_ranks = true,
      .options = unread(profile_options_into)};
  return form;
}

}  // namespace penstock
