// launch/program/planning/plan/cluster_options.h -- what the options of `penstock plan` say of the
// cluster: its nodes, links, network cards and memory; and what is printed of them, each figure
// with where it comes from.
#pragma once

#include <optional>
#include <string>

#include "launch/program/help/command_form.h"
#include "runtime/planning/costs/devices.h"
#include "runtime/planning/plan/arrangement.h"

namespace penstock {

// Null: the option was not given.
struct ClusterOptions {
  std::optional<int> nodes, ranks_per_node;              // all ranks are on one node without both
  std::optional<double> intra_gb_per_s, inter_gb_per_s;  // within a node, between nodes
  std::optional<double> intra_latency_us, inter_latency_us;
  std::optional<int> cards;  // of a node, shared by its ranks; 0: none is shared
  // Of each device of which pipeline.devices does not say it, such as "80GiB"; empty: what the
  // device model has.
  std::string memory;

  // Adds the command-line options that set these members.
  void add_to(CommandOptions& options);
};

// The number of ranks on a node; 0: all of the job's `ranks` are on one. Throws Error(Input) for
// options that contradict one another.
[[nodiscard]] int ranks_of_a_node(const ClusterOptions& options, int ranks);

// A cluster, and where its figures come from, in words: "usual for h100", "measured: profile.json",
// "--link-inter".
struct DescribedCluster {
  Cluster cluster = {};
  int ranks = 1;  // of the whole job
  std::string within_from = {}, between_from = {}, cards_from = {};
  std::string unused = {};  // options that say nothing here; empty: none

  [[nodiscard]] bool has_several_nodes() const {
    return cluster.ranks_per_node > 0 && cluster.ranks_per_node < ranks;
  }
};

// The cluster of these devices, with the links that a profile, read from `profile_path` where all
// ranks are alike, has measured, and what the options say in place of either. Throws Error(Input)
// for options that make no sense.
[[nodiscard]] DescribedCluster described(const ClusterOptions& options, int ranks,
                                         const Devices& devices, const std::string& profile_path);

// Lines that say the rates, latencies and cards with which a plan reckons.
[[nodiscard]] std::string cluster_text(const DescribedCluster& described);

}  // namespace penstock
