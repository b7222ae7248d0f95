#include "runtime/system/comm/link_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

// This is the reason why something is impossible. It is empty if nothing stands in the way.
using Obstacle = std::string;

constexpr const char* kAsked = "as asked";

std::string name_of(std::span<const RankFacts> ranks, int rank) {
  return "rank " + std::to_string(rank) + " (host " + ranks[static_cast<size_t>(rank)].host + ")";
}

// Returns why NCCL cannot join these ranks, or nothing if it can. NCCL needs a GPU of its own for
// every rank of a communicator.
Obstacle obstacle_to_nccl(std::span<const RankFacts> ranks, std::span<const int> members) {
  // For a GPU, and for a place on a host's bus, this has the first rank that uses it.
  std::map<std::string, int> users;
  for (const int rank : members) {
    const RankFacts& facts = ranks[static_cast<size_t>(rank)];
    if (facts.gpu.empty()) return name_of(ranks, rank) + " computes on its CPU";
    for (const std::string& gpu : {facts.gpu, facts.host + ' ' + facts.bus}) {
      const auto [user, is_new] = users.try_emplace(gpu, rank);
      if (is_new) continue;
      return "ranks " + std::to_string(user->second) + " and " + std::to_string(rank) +
             " share a GPU of host " + facts.host;
    }
  }
  return {};
}

std::vector<int> everyone(std::span<const RankFacts> ranks) {
  std::vector<int> all(ranks.size());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<int> replicas_at(int position, const Grid& grid) {
  std::vector<int> members;
  members.reserve(static_cast<size_t>(grid.replicas));
  for (int replica = 0; replica < grid.replicas; ++replica) {
    members.push_back(grid.world_rank(position, replica));
  }
  return members;
}

std::vector<Transport> sums_by_nccl_where_possible(std::span<const RankFacts> ranks,
                                                   const Grid& grid) {
  std::vector<Transport> sums(static_cast<size_t>(grid.positions), Transport::Mpi);
  if (grid.replicas == 1) return sums;
  for (int position = 0; position < grid.positions; ++position) {
    const bool possible = obstacle_to_nccl(ranks, replicas_at(position, grid)).empty();
    if (possible) sums[static_cast<size_t>(position)] = Transport::Nccl;
  }
  return sums;
}

bool any_gpu(std::span<const RankFacts> ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const auto& r) { return !r.gpu.empty(); });
}

std::string name_of_sums(const std::vector<Transport>& sums) {
  const auto by_nccl = std::count(sums.begin(), sums.end(), Transport::Nccl);
  if (by_nccl == 0) return name_of(Transport::Mpi);
  if (by_nccl == std::ssize(sums)) return name_of(Transport::Nccl);
  return "nccl or mpi by stage";
}

LinkPlan noted(LinkPlan plan, const Grid& grid, const std::string& reason) {
  const bool staged = plan.links == Transport::Mpi;
  plan.note = std::string("links by ") + (staged ? "mpi-staged" : name_of(plan.links));
  if (grid.replicas > 1) plan.note += ", sums by " + name_of_sums(plan.sums);
  plan.note += ": " + reason;
  return plan;
}

LinkPlan automatic(std::span<const RankFacts> ranks, const Grid& grid) {
  if (!any_gpu(ranks)) return {};
  LinkPlan plan;
  plan.sums = sums_by_nccl_where_possible(ranks, grid);
  const Obstacle obstacle = obstacle_to_nccl(ranks, everyone(ranks));
  if (!obstacle.empty()) return noted(std::move(plan), grid, obstacle);
  plan.links = Transport::Nccl;
  return noted(std::move(plan), grid, "every rank has a GPU of its own");
}

LinkPlan by_nccl(std::span<const RankFacts> ranks, const Grid& grid) {
  const Obstacle obstacle = obstacle_to_nccl(ranks, everyone(ranks));
  if (!obstacle.empty()) {
    fail_input("pipeline.link = nccl needs a GPU of its own for every rank, but " + obstacle +
               ": use --link auto or mpi-staged");
  }
  return noted({Transport::Nccl, sums_by_nccl_where_possible(ranks, grid), {}}, grid, kAsked);
}

LinkPlan by_mpi(std::span<const RankFacts> ranks) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].gpu.empty()) continue;
    fail_input("pipeline.link = mpi sends from host memory, but " +
               name_of(ranks, static_cast<int>(rank)) +
               " computes on a GPU: use --link auto or mpi-staged");
  }
  return {};
}

LinkPlan by_mpi_with_gpus(std::span<const RankFacts> ranks, const Grid& grid) {
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].gpu.empty() || ranks[rank].mpi_takes_gpu_memory) continue;
    fail_input("pipeline.link = mpi-cuda needs an MPI that reads GPU memory, but that of " +
               name_of(ranks, static_cast<int>(rank)) +
               " says that it cannot (MPIX_Query_cuda_support): use --link auto or mpi-staged, or "
               "an MPI built with CUDA");
  }
  if (!any_gpu(ranks)) {
    fail_input("pipeline.link = mpi-cuda is for GPUs, and no rank uses one: use --link auto");
  }
  return noted({Transport::MpiCuda, {}, {}}, grid, kAsked);
}

}  // namespace

const char* name_of(Transport transport) {
  switch (transport) {
    case Transport::Mpi:
      return "mpi";
    case Transport::MpiCuda:
      return "mpi-cuda";
    case Transport::Nccl:
      return "nccl";
  }
  return "?";
}

std::string text_of(const RankFacts& facts) {
  return facts.host + '\t' + facts.gpu + '\t' + facts.bus + '\t' +
         (facts.mpi_takes_gpu_memory ? '1' : '0') + '\t' + std::to_string(facts.visible_gpus);
}

RankFacts parse_rank_facts(const std::string& text) {
  RankFacts facts;
  std::string aware;
  std::istringstream in(text);
  std::getline(in, facts.host, '\t');
  std::getline(in, facts.gpu, '\t');
  std::getline(in, facts.bus, '\t');
  std::getline(in, aware, '\t');
  facts.mpi_takes_gpu_memory = aware == "1";
  in >> facts.visible_gpus;
  return facts;
}

LinkPlan plan_links(const std::string& wish, std::span<const RankFacts> ranks, const Grid& grid) {
  if (ranks.size() == 1) return {};  // a single rank has no links
  if (wish == "nccl") return by_nccl(ranks, grid);
  if (wish == "mpi") return by_mpi(ranks);
  if (wish == "mpi-cuda") return by_mpi_with_gpus(ranks, grid);
  if (wish == "mpi-staged") return any_gpu(ranks) ? noted({}, grid, kAsked) : LinkPlan{};
  return automatic(ranks, grid);
}

}  // namespace penstock
