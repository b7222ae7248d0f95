// launch/program/planning/plan/cluster_options.cpp -- see cluster_options.h.
#include "launch/program/planning/plan/cluster_options.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <vector>

#include "kernels/amount.h"
#include "kernels/error.h"
#include "launch/program/options/parse_bytes.h"
#include "launch/program/planning/plan/plan_table.h"
#include "runtime/planning/costs/interconnects.h"

namespace penstock {
namespace {

namespace po = boost::program_options;

// An option that sets `value` when it is given.
template <typename T>
po::typed_value<T>* optional_value(std::optional<T>& value, const char* name) {
  return po::value<T>()->notifier([&](const T& given) { value = given; })->value_name(name);
}

// Puts what the options say in the place of the link's figures, and adds their names to `from`.
void set_link(LinkTimes& link, std::string& from, std::optional<double> gb_per_s,
              std::optional<double> latency_us, const std::string& side) {
  std::vector<std::string> said;
  if (gb_per_s) {
    if (!(*gb_per_s > 0) || !std::isfinite(*gb_per_s)) {
      fail_input(fmt::format("plan: --link-{} is in GB/s, above 0, not {}", side, *gb_per_s));
    }
    link.seconds_per_byte = 1e-9 / *gb_per_s;
    said.push_back("--link-" + side);
  }
  if (latency_us) {
    if (!(*latency_us >= 0) || !std::isfinite(*latency_us)) {
      fail_input(fmt::format("plan: --latency-{} is in microseconds, at least 0, not {}", side,
                             *latency_us));
    }
    link.latency = 1e-6 * *latency_us;
    said.push_back("--latency-" + side);
  }
  if (said.empty()) return;
  const bool all = said.size() == 2;
  from = fmt::format("{}{}{}", fmt::join(said, ", "), all ? "" : "; else ", all ? "" : from);
}

std::string link_text(const LinkTimes& link, const std::string& from) {
  return fmt::format("{:.4g} GB/s after {:.4g} us ({})", 1e-9 / link.seconds_per_byte,
                     1e6 * link.latency, from);
}

}  // namespace

void ClusterOptions::add_to(CommandOptions& options) {
  options.add_options()("device-memory", po::value(&memory)->value_name("SIZE"),
                        "of each, e.g. 80GiB [what the device model has]")(
      "nodes", optional_value(nodes, "N"),
      "how many nodes the ranks are on, equally many on each [1]")(
      "ranks-per-node", optional_value(ranks_per_node, "N"),
      "the same, said by how many ranks share a node")(
      "cards", optional_value(cards, "N"),
      "network cards of a node, shared by its ranks; 0: none is shared [what nodes of that device "
      "usually have]")("link-intra", optional_value(intra_gb_per_s, "GB/S"),
                       "what a message within a node reaches [the profile's, or usual for the "
                       "device]")("link-inter", optional_value(inter_gb_per_s, "GB/S"),
                                  "the same between nodes, of each network card")(
      "latency-intra", optional_value(intra_latency_us, "US"),
      "microseconds of a message within a node [likewise]")(
      "latency-inter", optional_value(inter_latency_us, "US"), "the same between nodes");
}

int ranks_of_a_node(const ClusterOptions& options, int ranks) {
  if (options.ranks_per_node && *options.ranks_per_node < 1) {
    fail_input(
        fmt::format("plan: --ranks-per-node is how many ranks share a node, at least 1, not {}",
                    *options.ranks_per_node));
  }
  if (!options.nodes) return options.ranks_per_node.value_or(0);
  const int nodes = *options.nodes;
  if (nodes < 1 || ranks % nodes != 0) {
    fail_input(
        fmt::format("plan: --nodes is how many nodes {} can be on, equally many on each, "
                    "not {}; how many ranks share a node is --ranks-per-node",
                    amount_text(ranks, "rank"), nodes));
  }
  const int each = ranks / nodes;
  if (options.ranks_per_node.value_or(each) != each) {
    fail_input(
        fmt::format("plan: {} on --nodes {} are {} on each, not --ranks-per-node {}: "
                    "give one of the two",
                    amount_text(ranks, "rank"), nodes, each, *options.ranks_per_node));
  }
  return each;
}

DescribedCluster described(const ClusterOptions& options, int ranks, const Devices& devices,
                           const std::string& profile_path) {
  const DeviceKind& first = devices.kinds.front();
  const std::string usual = "usual for " + first.model.name;
  const auto source = [&](const LinkTimes Profile::*link) -> std::string {
    if (devices.kinds.size() > 1) return "the slowest of the devices'";
    const bool measured = first.profile && is_measured((*first.profile).*link);
    return measured ? "measured: " + profile_path : usual;
  };
  DescribedCluster result{.cluster = cluster_of(devices, ranks_of_a_node(options, ranks)),
                          .ranks = ranks,
                          .within_from = source(&Profile::within_node),
                          .between_from = source(&Profile::between_nodes),
                          .cards_from = usual};
  Cluster& cluster = result.cluster;
  set_link(cluster.within_node, result.within_from, options.intra_gb_per_s,
           options.intra_latency_us, "intra");
  set_link(cluster.between_nodes, result.between_from, options.inter_gb_per_s,
           options.inter_latency_us, "inter");
  if (options.cards) {
    constexpr int kMostCards = 1024;
    if (*options.cards < 0 || *options.cards > kMostCards) {
      fail_input(
          fmt::format("plan: --cards is how many network cards a node has, from 0 to {}, not {}; "
                      "0: none is shared",
                      kMostCards, *options.cards));
    }
    cluster.cards = *options.cards;
    result.cards_from = "--cards";
  }
  if (!options.memory.empty()) cluster.memory_bytes = parse_bytes(options.memory);
  if (!result.has_several_nodes()) {
    std::vector<std::string> unused;
    if (options.cards) unused.emplace_back("--cards");
    if (options.inter_gb_per_s) unused.emplace_back("--link-inter");
    if (options.inter_latency_us) unused.emplace_back("--latency-inter");
    result.unused = fmt::format("{}", fmt::join(unused, ", "));
  }
  return result;
}

std::string cluster_text(const DescribedCluster& described) {
  if (described.ranks == 1) return "";
  const Cluster& cluster = described.cluster;
  std::string text =
      "links: within a node " + link_text(cluster.within_node, described.within_from);
  if (!described.has_several_nodes()) {
    text += "\n";
    if (described.unused.empty()) return text;
    return text + "not used, since all ranks are on one node: " + described.unused + "\n";
  }
  return text + "\n       between nodes " +
         link_text(cluster.between_nodes, described.between_from) +
         "\ncards: " + cards_text(cluster) + " (" + described.cards_from + ")\n";
}

}  // namespace penstock
