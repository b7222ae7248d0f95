// Plans: complete, ranked, honest about what was left out.
#include "runtime/planning/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/planning/replay/replay_step.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ModelCosts eight_layers(MicroBatches cut) {
  const int64_t b = cut.size;
  ModelCosts costs{.device = "test", .micro_batch_size = b, .layers = {}};
  LayerCost layer;
  const auto size = static_cast<double>(b);
  layer.parameters = 10;
  layer.forward_s = 0.1 + size;
  layer.backward_input_s = layer.backward_weight_s = 0.1 + size;
  layer.backward_s = 2 * layer.backward_input_s;
  layer.input_bytes = layer.output_bytes = 100 * b;
  layer.tape_bytes = 1000 * b;
  layer.record_peak_bytes = 1200 * b;
  layer.parameter_bytes = layer.gradient_bytes = 4000;
  costs.layers.assign(8, layer);
  costs.layers.front().input_bytes = 0;
  costs.layers.back().output_bytes = 0;
  return costs;
}

PlanRequest request(int ranks) {
  PlanRequest r;
  r.ranks = ranks;
  r.mini_batch = 16;
  r.costs = eight_layers;
  r.wanted = 1000;
  return r;
}

// A layer of one micro-batch keeps less and takes longer than one of several of the same size.
TEST(Plan, CandidatesOfOneMicroBatchHaveTheirOwnCosts) {
  PlanRequest r = request(2);
  r.micro_batch_size = 8;
  r.costs = [](MicroBatches cut) {
    ModelCosts costs = eight_layers(cut);
    for (LayerCost& layer : costs.layers) layer.workspace_bytes = cut.several ? 7000 : 0;
    return costs;
  };
  bool one = false;
  bool several = false;
  for (const PlannedCandidate& planned : plan(r).candidates) {
    if (planned.standing != Standing::Ranked) continue;
    const bool is_one = planned.candidate.micro_batches == 1;
    EXPECT_EQ(planned.prediction.memory[0].workspace > 0, !is_one);
    (is_one ? one : several) = true;
  }
  EXPECT_TRUE(one && several);
}

// Four ranks, whose layers and links are as unlike as those of real networks.
PlanRequest unlike_request() {
  PlanRequest r = request(4);
  r.replicas = 1;
  r.micro_batch_size = 2;
  r.chunks = 2;
  r.recompute = "none";
  r.cluster.within_node.latency = 0.7;
  r.costs = [](MicroBatches cut) {
    ModelCosts costs = eight_layers(cut);
    for (const auto& [l, factor] : {std::pair{0, 3.0}, {3, 0.5}, {7, 2.0}}) {
      LayerCost& layer = costs.layers[l];
      layer.forward_s *= factor;
      layer.backward_input_s *= factor;
      layer.backward_weight_s *= factor;
      layer.backward_s *= factor;
    }
    return costs;
  };
  return r;
}

TEST(Plan, SearchedSchedulesAreListedWhereTheyGain) {
  const PlanRequest r = unlike_request();
  const Plan made = plan(r);
  const PlannedCandidate& best = *made.best();
  EXPECT_EQ(best.candidate.schedule, kSearched);
  ASSERT_TRUE(best.gap);
  EXPECT_GE(*best.gap, 0);
  ModelCosts costs = r.costs(best.candidate.cut());
  EXPECT_EQ(predict(best.candidate, costs, r.cluster).step.mean_s, best.prediction.step.mean_s);
  EXPECT_EQ(best.prediction.memory.size(), 4U);
  for (const PlannedCandidate& planned : made.candidates) {
    if (planned.standing != Standing::Ranked || planned.gap) continue;
    EXPECT_LT(best.prediction.step.mean_s, 0.99 * planned.prediction.step.mean_s);
  }
  // Two ranks whose layers are alike gain nothing.
  PlanRequest alike = request(2);
  alike.replicas = 1;
  alike.chunks = 1;
  alike.recompute = "none";
  for (const PlannedCandidate& planned : plan(alike).candidates) EXPECT_FALSE(planned.gap);
}

// Only an order with fewer micro-batches in flight than any known schedule has fits here.
TEST(Plan, SearchesWhereNoKnownScheduleFits) {
  PlanRequest r = unlike_request();
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const PlannedCandidate& planned : plan(r).candidates) {
    if (planned.gap || planned.prediction.memory.empty()) continue;
    least = std::min(least, planned.prediction.fullest_bytes());
  }
  r.cluster.memory_bytes = least - 1;
  const Plan made = plan(r);
  ASSERT_NE(made.best(), nullptr);
  EXPECT_EQ(made.best()->candidate.schedule, kSearched);
  EXPECT_LT(made.best()->prediction.fullest_bytes(), least);
  r.cluster.memory_bytes = 1;
  EXPECT_EQ(plan(r).best(), nullptr);
}

TEST(Plan, AskedForByNameSearchedSchedulesAreAll) {
  PlanRequest r = unlike_request();
  r.schedule = kSearched;
  const Plan made = plan(r);
  ASSERT_NE(made.best(), nullptr);
  for (const PlannedCandidate& planned : made.candidates) {
    EXPECT_EQ(planned.candidate.schedule, kSearched);
    EXPECT_TRUE(planned.gap);
  }
}

TEST(Plan, EveryCandidateTakesTheSameMiniBatchOnAllRanks) {
  const Plan made = plan(request(4));
  EXPECT_EQ(made.parameters, 80);
  std::set<std::string> schedules;
  std::set<int> stages;
  double last = 0;
  for (const PlannedCandidate& planned : made.candidates) {
    const Arrangement& c = planned.candidate;
    EXPECT_EQ(c.ranks() * c.replicas, 4);
    EXPECT_EQ(c.micro_batch_size * c.replicas * c.micro_batches, 16);
    schedules.insert(c.schedule);
    stages.insert(c.stages);
    if (planned.standing != Standing::Ranked) {
      EXPECT_NE(planned.reason, "");
      continue;
    }
    EXPECT_EQ(planned.reason, "");
    EXPECT_GE(planned.prediction.step.plain_s, last);  // fastest first
    last = planned.prediction.step.plain_s;
  }
  EXPECT_TRUE(stages.contains(1) && stages.contains(2) && stages.contains(4));
  for (const char* name : {"gpipe", "1f1b", "1f1b-deep", "interleaved-1f1b", "zb-h1", "zb-v"}) {
    EXPECT_TRUE(schedules.contains(name)) << name;
  }
}

TEST(Plan, LeavesOutOnlyWhatCannotWin) {
  PlanRequest r = request(8);
  const Plan all = plan(r);
  r.wanted = 3;
  const Plan three = plan(r);
  EXPECT_LE(all.candidates.size(), three.candidates.size());  // none is lost
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(all.candidates[i].prediction.step.plain_s,
              three.candidates[i].prediction.step.plain_s);
  }
  const auto left_out =
      std::count_if(three.candidates.begin(), three.candidates.end(),
                    [](const PlannedCandidate& c) { return c.standing == Standing::NotSimulated; });
  EXPECT_GT(left_out, 0);
}

// Four nodes of eight ranks, whose sums and messages share a slow card.
PlanRequest on_four_nodes() {
  PlanRequest r = request(32);
  r.mini_batch = 64;
  r.cluster.ranks_per_node = 8;
  r.cluster.between_nodes = {.latency = 1e-3, .seconds_per_byte = 1e-4};
  r.shared = true;
  return r;
}

TEST(Plan, RanksByTheReplayOfTheWholeJob) {
  const PlanRequest r = on_four_nodes();
  const Plan made = plan(r);
  std::set<std::string> placements;
  double last = 0;
  for (const PlannedCandidate& planned : made.candidates) {
    if (planned.standing != Standing::Ranked) continue;
    const Arrangement& c = planned.candidate;
    const Job job = job_of(c, eight_layers(c.cut()), r.cluster);
    EXPECT_EQ(planned.prediction.step.plain_s, replay_step(job).step_s);
    EXPECT_GE(planned.prediction.step.plain_s, last);
    last = planned.prediction.step.plain_s;
    placements.insert(c.placement);
  }
  EXPECT_EQ(placements, (std::set<std::string>{"replicas", "stages"}));
  PlanRequest pinned = r;
  pinned.placement = "replicas";
  for (const PlannedCandidate& c : plan(pinned).candidates) {
    EXPECT_EQ(c.candidate.placement, "replicas");
  }
}

// Placements are the same on one node, of one pipeline, and of pipelines of one rank.
TEST(Plan, TriesPlacementsWhereTheyDiffer) {
  PlanRequest r = on_four_nodes();
  for (const PlannedCandidate& planned : plan(r).candidates) {
    const Arrangement& c = planned.candidate;
    if (c.replicas == 1 || c.ranks() == 1) {
      EXPECT_EQ(c.placement, "stages");
    }
  }
  r.cluster.ranks_per_node = 32;
  for (const PlannedCandidate& c : plan(r).candidates) EXPECT_EQ(c.candidate.placement, "stages");
}

// The bounds leave out nothing that a replay finds among the fastest.
TEST(Plan, LeavesOutOnlyWhatCannotWinOnSeveralNodes) {
  for (const bool shared : {false, true}) {
    for (const double seconds_per_byte : {1e-6, 1e-4, 1e-3}) {
      PlanRequest r = on_four_nodes();
      r.shared = shared;
      r.cluster.between_nodes.seconds_per_byte = seconds_per_byte;
      const Plan all = plan(r);
      r.wanted = 3;
      const Plan three = plan(r);
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(all.candidates[i].prediction.step.plain_s,
                  three.candidates[i].prediction.step.plain_s);
      }
    }
  }
}

TEST(Plan, SaysWhyNot) {
  PlanRequest r = request(16);
  r.cluster.memory_bytes = 9000;
  bool layers = false;
  bool memory = false;
  for (const PlannedCandidate& c : plan(r).candidates) {
    if (c.standing != Standing::Infeasible) continue;
    layers = layers || c.reason.find("more stages than layers") != std::string::npos;
    memory = memory || c.reason.starts_with("needs ");
  }
  EXPECT_TRUE(layers);
  EXPECT_TRUE(memory);
}

// Every forward on one rank is followed by its backward, so mode stage keeps the tape, as none
// does.
TEST(Plan, NamesWhatIsTheSameOnce) {
  const auto modes = [](const PlanRequest& r, int micro_batches) {
    std::multiset<std::string> found;
    for (const PlannedCandidate& planned : plan(r).candidates) {
      const Arrangement& c = planned.candidate;
      if (c.schedule != "1f1b" || c.stages != r.ranks || c.micro_batches != micro_batches) continue;
      found.insert(c.recompute);
    }
    return found;
  };
  using Modes = std::multiset<std::string>;
  PlanRequest one = request(1);
  EXPECT_EQ(modes(one, 4), (Modes{"layer", "none"}));
  EXPECT_EQ(modes(request(2), 1), (Modes{"layer", "none"}));
  EXPECT_EQ(modes(request(2), 4), (Modes{"layer", "none", "stage"}));
  one.recompute = "stage";
  EXPECT_EQ(modes(one, 4), (Modes{"stage"}));
  EXPECT_NE(plan(one).best(), nullptr);
}

TEST(Plan, KeepsWhatIsPinned) {
  PlanRequest r = request(4);
  r.stages = 4;
  r.schedule = "zb-h1";
  r.recompute = "none";
  r.micro_batches = 8;
  const Plan made = plan(r);
  ASSERT_EQ(made.candidates.size(), 1U);
  EXPECT_EQ(made.candidates[0].candidate.schedule, "zb-h1");
  EXPECT_EQ(made.candidates[0].candidate.micro_batch_size, 2);
  EXPECT_EQ(made.best(), &made.candidates[0]);
}

// Five stages on three ranks: of the known schedules the one that takes any placement, and one that
// is searched, both with splits that give the rank of one stage as much as the others.
TEST(Plan, KeepsStagesOnTheirRanks) {
  PlanRequest r = request(6);
  r.stage_ranks = {0, 1, 2, 2, 1};
  r.micro_batch_size = 1;
  r.costs = [](MicroBatches cut) {
    ModelCosts costs = eight_layers(cut);
    costs.layers.resize(6, costs.layers[1]);
    return costs;
  };
  const Plan made = plan(r);
  std::set<std::string> schedules;
  for (const PlannedCandidate& planned : made.candidates) {
    const Arrangement& c = planned.candidate;
    EXPECT_EQ(c.stage_ranks, r.stage_ranks);
    EXPECT_EQ(c.stages, 5);
    EXPECT_EQ(c.chunks, 2);
    EXPECT_EQ(c.ranks(), 3);
    EXPECT_EQ(c.replicas, 2);
    if (planned.standing != Standing::Ranked) continue;
    schedules.insert(c.schedule);
    EXPECT_THAT(c.split, ElementsAre(2, 1, 1, 1, 1)) << c.schedule << " " << c.recompute;
    EXPECT_EQ(planned.prediction.memory.size(), 3U);
  }
  EXPECT_EQ(schedules, (std::set<std::string>{"looped-bfs", kSearched}));
  EXPECT_EQ(made.best()->candidate.schedule, kSearched);
  r.schedule = "1f1b";  // it has its own placement
  EXPECT_THROW((void)plan(r), std::invalid_argument);
}

// A warm-up that is asked for leaves only schedules that have one, and is counted: each forward
// ahead is a stash.
TEST(Plan, KeepsAWarmUp) {
  PlanRequest r = request(4);
  r.stages = 4;
  r.recompute = "none";
  r.micro_batches = 8;
  std::map<std::string, std::vector<int64_t>> activations;  // by schedule, by warm-up
  for (const int warm_up : {1, 2, 3}) {
    r.warm_up = warm_up;
    for (const PlannedCandidate& planned : plan(r).candidates) {
      EXPECT_EQ(planned.candidate.warm_up, warm_up);
      activations[planned.candidate.schedule].push_back(planned.prediction.memory[0].activations);
    }
  }
  EXPECT_EQ(activations.size(), 2U);
  for (const char* const schedule : {"1f1b", "zb-h1"}) {
    const std::vector<int64_t>& held = activations[schedule];
    ASSERT_EQ(held.size(), 3U) << schedule;
    EXPECT_GT(held[1], held[0]);
    EXPECT_EQ(held[2] - held[1], held[1] - held[0]);
  }
}

// A step that is audited does one micro-batch again: with few micro-batches that is much of it.
TEST(Plan, CountsAuditsInTimeAndMemory) {
  PlanRequest plain = request(2);
  plain.replicas = 1;
  plain.schedule = "1f1b";
  plain.recompute = "none";
  PlanRequest audited = plain;
  audited.audit = 2;
  std::map<int, Prediction> without;
  for (const PlannedCandidate& c : plan(plain).candidates) {
    if (c.standing == Standing::Ranked) without[c.candidate.micro_batches] = c.prediction;
  }
  ASSERT_EQ(without.size(), 5U);
  double last = 0;
  for (const PlannedCandidate& c : plan(audited).candidates) {
    const Prediction& now = c.prediction;
    const Prediction& before = without.at(c.candidate.micro_batches);
    EXPECT_DOUBLE_EQ(before.step.mean_s, before.step.plain_s);
    EXPECT_DOUBLE_EQ(now.step.plain_s, before.step.plain_s);
    EXPECT_GT(now.step.audited_s, now.step.plain_s);
    EXPECT_DOUBLE_EQ(now.step.mean_s, (now.step.plain_s + now.step.audited_s) / 2);
    EXPECT_DOUBLE_EQ(now.samples_per_s, 16 / now.step.mean_s);
    EXPECT_GE(now.step.mean_s, last);
    last = now.step.mean_s;
    // The gradients once more, the gradient that a micro-batch's outputs were given, and two
    // tensors of a part of the update, which has no states here.
    const int64_t part = int64_t{64} * 4096 * 4;
    EXPECT_EQ(now.memory[0].total() - before.memory[0].total(),
              before.memory[0].gradients + 100 * c.candidate.micro_batch_size + 2 * part);
  }
  // One micro-batch is nearly twice the work in every other step; 16 are a sixteenth more.
  EXPECT_GT(plan(audited).best()->candidate.micro_batches, 1);
  audited.cluster.memory_bytes = plan(plain).best()->prediction.fullest_bytes();
  EXPECT_EQ(plan(audited).best(), nullptr) << "nothing fits with audits";
}

// Sizes of micro-batches were found by trying every number up to the mini-batch.
TEST(Plan, OfAHugeMiniBatchEnds) {
  PlanRequest r = request(2);
  r.mini_batch = int64_t{3} << 40;
  r.most_instructions = 100;
  r.schedule = "1f1b";
  std::set<int64_t> sizes;
  for (const PlannedCandidate& c : plan(r).candidates) sizes.insert(c.candidate.micro_batch_size);
  EXPECT_EQ(*sizes.begin(), 1024) << "of smaller ones there are more than an int can count";
  EXPECT_EQ(*sizes.rbegin(), int64_t{3} << 40);
  EXPECT_TRUE(sizes.contains(int64_t{1} << 40));
}

TEST(Plan, RefusesWhatNoCandidateMeets) {
  PlanRequest r = request(4);
  r.stages = 3;
  try {
    (void)plan(r);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("no pipeline on 4 ranks"));
  }
}

// There is room for the activations of one of two stages, the one that takes longer.
TEST(Plan, StagesWithRoomRecomputeNothing) {
  PlanRequest r = request(2);
  r.stages = 2;
  r.micro_batch_size = 2;
  r.schedule = "gpipe";
  r.split = {5, 3};
  for (const PlannedCandidate& planned : plan(r).candidates) {
    EXPECT_THAT(planned.candidate.kept_stages, ElementsAre())
        << "with room for all it is mode none";
  }
  Arrangement one = plan(r).best()->candidate;
  EXPECT_EQ(one.recompute, "none");
  one.recompute = "stage";
  one.kept_stages = {0};
  const Prediction kept = predict(one, eight_layers(one.cut()), r.cluster);
  r.cluster.devices = {{.kind = 0, .memory_bytes = kept.memory[0].total()},
                       {.kind = 0, .memory_bytes = kept.memory[1].total()}};
  const Plan tight = plan(r);
  ASSERT_NE(tight.best(), nullptr);
  EXPECT_THAT(tight.best()->candidate.kept_stages, ElementsAre(0));
  EXPECT_EQ(tight.best()->prediction.step.plain_s, kept.step.plain_s);
  r.recompute = "stage";  // is kept as it is
  ASSERT_NE(plan(r).best(), nullptr);
  EXPECT_THAT(plan(r).best()->candidate.kept_stages, ElementsAre());
  EXPECT_LT(kept.step.plain_s, plan(r).best()->prediction.step.plain_s);
  r.kept_stages = {0};
  ASSERT_EQ(plan(r).candidates.size(), 1U);
  EXPECT_EQ(plan(r).best()->prediction.step.plain_s, kept.step.plain_s);
}

}  // namespace
}  // namespace penstock
