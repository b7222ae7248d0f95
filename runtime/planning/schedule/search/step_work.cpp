// What each instruction takes of its rank's time.
#include "runtime/planning/schedule/search/step_work.h"

#include <algorithm>

namespace penstock {
namespace {

// What a message between two stages takes of the time of its sender and its receiver.
struct Handling {
  double sender = 0, receiver = 0;
};

// The link from a stage to the next one.
const LinkTimes& link_of(const SearchProblem& problem, int stage) {
  const PipelineCosts& costs = problem.costs;
  if (!costs.boundary_link.empty()) return costs.boundary_link[stage];
  const auto node = [&](int s) {
    return costs.node_of_rank.empty() ? 0 : costs.node_of_rank[problem.rank_of_stage[s]];
  };
  return node(stage) == node(stage + 1) ? costs.within_node : costs.between_nodes;
}

}  // namespace

StepWork work_of(const SearchProblem& problem) {
  const PipelineCosts& costs = problem.costs;
  const int stages = static_cast<int>(problem.rank_of_stage.size());
  StepWork work{.ranks = problem.ranks,
                .stages = stages,
                .micro_batches = problem.micro_batches,
                .rank_of_stage = problem.rank_of_stage,
                .stages_of_rank = std::vector<std::vector<int>>(problem.ranks),
                .stage = std::vector<StageWork>(stages),
                .hop = std::vector<Hop>(std::max(0, stages - 1)),
                .held = problem.held,
                .limit = problem.limit};
  work.held.resize(stages);
  if (work.limit.empty()) work.limit.assign(problem.ranks, kUnlimitedBytes);
  std::vector<Handling> handling(work.hop.size());
  for (int s = 0; s + 1 < stages; ++s) {
    work.hop[s].local = work.rank_of_stage[s] == work.rank_of_stage[s + 1];
    if (work.hop[s].local) continue;
    const LinkTimes& link = link_of(problem, s);
    const double bytes = costs.boundary_bytes.empty() ? 0 : costs.boundary_bytes[s];
    const double moving = bytes * link.seconds_per_byte;
    handling[s] = {link.overhead, link.overhead + (link.receiver_copies ? moving : 0)};
    work.hop[s].on_link = link.receiver_copies ? 0 : moving;
    work.hop[s].latency = link.latency;
  }
  for (int s = 0; s < stages; ++s) {
    work.stages_of_rank[work.rank_of_stage[s]].push_back(s);
    const Handling before = s > 0 ? handling[s - 1] : Handling{};
    const Handling after = s + 1 < stages ? handling[s] : Handling{};
    const StageTimes& times = costs.stage[s];
    const double gradients = after.receiver + before.sender;
    work.stage[s] = {.forward = before.receiver + times.forward + after.sender,
                     .recompute = problem.recompute ? times.recompute : 0,
                     .input = times.backward_input + gradients,
                     .weight = times.backward_weight,
                     .whole = times.backward + gradients};
  }
  return work;
}

LeastBackward least_backward(const StageWork& work) {
  const double input = std::min(work.input, work.whole);
  return {input, std::min(work.input + work.weight, work.whole) - input};
}

}  // namespace penstock
