// launch/program/planning/plan/plan_json.cpp -- see plan_json.h.
#include "launch/program/planning/plan/plan_json.h"

#include <nlohmann/json.hpp>

#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;

Json candidate_json(const PlannedCandidate& planned, const CopiesOf& copies_of) {
  const Arrangement& c = planned.candidate;
  const Prediction& p = planned.prediction;
  const bool simulated = planned.standing == Standing::Ranked;
  const auto known = [&](double value) { return simulated ? Json(value) : Json(nullptr); };
  Json peaks = Json::array();
  for (const RankMemory& memory : p.memory) peaks.push_back(memory.total());
  Json json = {{"stages", c.stages},
               {"replicas", c.replicas},
               {"chunks", c.chunks},
               {"micro_batches", c.micro_batches},
               {"micro_batch_size", c.micro_batch_size},
               {"schedule", c.schedule},
               {"warm_up", c.warm_up},
               {"recompute", c.recompute},
               {"placement", c.placement},
               {"split", c.split},
               {"feasible", simulated},
               {"simulated", simulated},
               {"reason", planned.reason},
               {"step_ms", known(p.step.mean_s * 1e3)},
               {"samples_per_s", known(p.samples_per_s)},
               {"bubble", known(p.bubble)},
               {"exposed_communication_ms", known(p.exposed_communication_s * 1e3)},
               {"peak_bytes", std::move(peaks)}};
  if (planned.gap) {
    json["gap"] = *planned.gap;
    json["csv"] = c.csv;
  }
  if (!c.stage_ranks.empty()) json["stage_ranks"] = c.stage_ranks;
  if (!c.kept_stages.empty()) json["kept_stages"] = c.kept_stages;
  if (c.audit > 0) {
    json["unaudited_step_ms"] = known(p.step.plain_s * 1e3);
    json["audited_step_ms"] = known(p.step.audited_s * 1e3);
  }
  if (copies_of && simulated) {
    const CopyCosts copies = copies_of(planned);
    json["copy_bytes"] = copies.bytes;
    json["copy_network_ms"] = copies.network_s * 1e3;
  }
  return json;
}

Json link_json(const LinkTimes& link, const std::string& from) {
  return {{"gb_per_s", 1e-9 / link.seconds_per_byte},
          {"latency_us", 1e6 * link.latency},
          {"from", from}};
}

Json files_json(const std::optional<FolderSize>& size) {
  if (!size) return nullptr;
  Json json = {{"bytes", size->bytes}, {"files", size->files}};
  if (size->files == 0) json["type"] = size->type;
  return json;
}

// Returns the links by pairs of groups of ranks; null stands for the usual figure.
Json own_links_json(const RankLinks& links) {
  Json pairs = Json::array();
  for (const auto& [groups, own] : links.between) {
    Json pair = {{"ranks", Json::array()}, {"and", Json::array()}};
    for (size_t rank = 0; rank < links.group_of_rank.size(); ++rank) {
      if (links.group_of_rank[rank] == groups.first) pair["ranks"].push_back(rank);
      if (links.group_of_rank[rank] == groups.second) pair["and"].push_back(rank);
    }
    pair["gb_per_s"] = own.seconds_per_byte ? Json(1e-9 / *own.seconds_per_byte) : Json(nullptr);
    pair["latency_us"] = own.latency ? Json(1e6 * *own.latency) : Json(nullptr);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

Json cluster_json(const DescribedCluster& described) {
  const Cluster& cluster = described.cluster;
  Json json = {
      {"ranks_per_node", described.has_several_nodes() ? cluster.ranks_per_node : described.ranks},
      {"cards", cluster.cards},
      {"cards_from", described.cards_from},
      {"within_node", link_json(cluster.within_node, described.within_from)},
      {"between_nodes", link_json(cluster.between_nodes, described.between_from)}};
  if (!cluster.links.empty()) json["unlike_links"] = own_links_json(cluster.links);
  return json;
}

Json devices_json(const Devices& devices) {
  Json kinds = Json::array();
  if (devices.kind_of_rank.empty()) return kinds;
  for (const DeviceKind& kind : devices.kinds) {
    kinds.push_back({{"ranks", Json::array()},
                     {"model", kind.model.name},
                     {"measured", kind.profile.has_value()},
                     {"speed", kind.speed},
                     {"memory_bytes", kind.memory_bytes}});
  }
  for (size_t rank = 0; rank < devices.kind_of_rank.size(); ++rank) {
    kinds[static_cast<size_t>(devices.kind_of_rank[rank])]["ranks"].push_back(rank);
  }
  return kinds;
}

}  // namespace

std::string plan_json(const Plan& plan, const PlannedNetwork& network,
                      const DescribedCluster& described, const std::vector<Replayed>& replays,
                      const CopiesOf& copies_of, const Devices& devices) {
  Json json = {{"parameters", plan.parameters},
               {"active_parameters", network.active_parameters},
               {"weights_files", files_json(network.weights_files)},
               {"devices", devices_json(devices)},
               {"cluster", cluster_json(described)},
               {"step_from", described.has_several_nodes() ? "replay" : "simulation"},
               {"candidates", Json::array()}};
  for (const PlannedCandidate& planned : plan.candidates) {
    json["candidates"].push_back(candidate_json(planned, copies_of));
  }
  for (const Replayed& replay : replays) {
    Json& of = json["candidates"][replay.candidate]["replayed"];
    of = {{"step_ms", replay.step.mean_s * 1e3},
          {"slowest_ms", replay.slowest_s * 1e3},
          {"card_busy", replay.card_busy},
          {"goodput", replay.goodput}};
    if (replay.interval_s) of["checkpoint_interval_s"] = *replay.interval_s;
  }
  return shown_json(json) + "\n";
}

}  // namespace penstock
