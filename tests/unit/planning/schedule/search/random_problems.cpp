#include "tests/unit/planning/schedule/search/random_problems.h"

#include <algorithm>

#include "runtime/planning/schedule/generators/placement.h"

namespace penstock {

int between(Random& random, int low, int high) {
  return std::uniform_int_distribution(low, high)(random);
}

double number(Random& random, double low, double high) {
  return std::uniform_real_distribution(low, high)(random);
}

std::vector<int> placement_by_dice(Random& random, int ranks, int stages) {
  std::vector<int> placement;
  for (int s = 0; s < stages; ++s)
    placement.push_back(s < ranks ? s : between(random, 0, ranks - 1));
  std::shuffle(placement.begin(), placement.end(), random);
  return placement;
}

SearchProblem unlike_stages(Random& random, const Sizes& sizes) {
  const Schedule usual = sizes.in_a_v ? folded(sizes.ranks, sizes.micro_batches)
                                      : looped(sizes.ranks, sizes.chunks, sizes.micro_batches);
  const int stages = usual.stages + sizes.more;
  const Schedule placed =
      sizes.more == 0
          ? usual
          : penstock::placed(placement_by_dice(random, sizes.ranks, stages), sizes.micro_batches);
  SearchProblem problem{.ranks = placed.ranks,
                        .micro_batches = placed.micro_batches,
                        .rank_of_stage = placed.rank_of_stage};
  const double spread = number(random, 1, 4);
  for (int stage = 0; stage < placed.stages; ++stage) {
    const double forward = number(random, 1, spread);
    const double input = forward * number(random, 0.5, 1.5);
    const double weight = forward * number(random, 0.2, 1.2);
    problem.costs.stage.push_back({forward, forward, input, weight, input + weight});
    const int64_t held = between(random, 1000, 4000);
    problem.held.push_back({held, held * between(random, 0, 4) / 4});
  }
  return problem;
}

void add_messages(Random& random, SearchProblem& problem) {
  PipelineCosts& costs = problem.costs;
  for (size_t stage = 0; stage + 1 < problem.rank_of_stage.size(); ++stage) {
    costs.boundary_bytes.push_back(between(random, 0, 1000));
  }
  for (LinkTimes* const link : {&costs.within_node, &costs.between_nodes}) {
    *link = {.latency = number(random, 0, 0.5),
             .seconds_per_byte = number(random, 0, 0.002),
             .overhead = between(random, 0, 1) * number(random, 0, 0.2),
             .receiver_copies = between(random, 0, 2) == 0};
  }
  for (int rank = 0; rank < problem.ranks; ++rank) {
    costs.node_of_rank.push_back(rank * 2 / problem.ranks);
  }
}

void add_limits(Random& random, SearchProblem& problem, int most) {
  problem.limit.assign(problem.ranks, 0);
  for (size_t stage = 0; stage < problem.held.size(); ++stage) {
    problem.limit[problem.rank_of_stage[stage]] += problem.held[stage].until_input;
  }
  for (int64_t& limit : problem.limit) limit *= between(random, 1, most);
}

void add_costs_of_halves(Random& random, SearchProblem& problem) {
  for (StageTimes& times : problem.costs.stage) times.backward *= number(random, 0.7, 1.2);
}

Programs random_programs(Random& random, const SearchProblem& problem) {
  const int stages = static_cast<int>(problem.rank_of_stage.size());
  struct Done {
    int forwards = 0, inputs = 0, weights = 0;
  };
  std::vector<Done> done(stages);
  Programs programs(problem.ranks);
  for (int left = stages * problem.micro_batches * 3; left > 0;) {
    const int s = between(random, 0, stages - 1);
    auto& [forwards, inputs, weights] = done[s];
    auto& program = programs[problem.rank_of_stage[s]];
    const int ready = s > 0 ? done[s - 1].forwards : problem.micro_batches;
    const int returned = s + 1 < stages ? done[s + 1].inputs : forwards;
    switch (between(random, 0, 3)) {
      case 0:
        if (forwards == ready) continue;
        program.push_back({Op::Forward, s, forwards++});
        break;
      case 1:
        if (inputs == returned) continue;
        program.push_back({Op::BackwardInput, s, inputs++});
        break;
      case 2:
        if (weights == inputs) continue;
        program.push_back({Op::BackwardWeight, s, weights++});
        break;
      default:
        if (inputs == returned || weights != inputs) continue;
        program.push_back({Op::Backward, s, inputs++});
        ++weights;
        --left;
    }
    --left;
  }
  return programs;
}

}  // namespace penstock
