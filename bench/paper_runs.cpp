#include "bench/paper_runs.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "runtime/network/models/models.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/costs/interconnects.h"
#include "runtime/planning/costs/layer_costs.h"
#include "runtime/planning/plan/plan.h"
#include "runtime/planning/plan/split.h"
#include "runtime/planning/plan/stages/stage_costs.h"
#include "runtime/planning/schedule/generators/generators.h"
#include "runtime/planning/schedule/lower.h"

namespace penstock::paper {
namespace {

// RMSProp without momentum, fp32: the paper's 12 bytes a parameter.
ModelCosts costs_of(const DeviceModel& device, const Work& work, MicroBatches cut) {
  OptimizerConfig optimizer;
  optimizer.kind = "rmsprop";
  optimizer.momentum = 0;
  return counted_costs(build_model(work.model, 0, 0), input_of(work.model), cut, DType::F32,
                       optimizer, device);
}

double imbalance(const Arrangement& candidate, const Schedule& schedule, const ModelCosts& costs) {
  std::vector<double> work(schedule.ranks, 0.0);
  std::span<const LayerCost> rest(costs.layers);
  for (int s = 0; s < schedule.stages; ++s) {
    const StageTimes times = stage_times(rest.first(candidate.split[s]), candidate.recompute);
    work[schedule.rank_of_stage[s]] += times.forward + times.backward;
    rest = rest.subspan(candidate.split[s]);
  }
  const double all = std::accumulate(work.begin(), work.end(), 0.0);
  return *std::max_element(work.begin(), work.end()) * schedule.ranks / all;
}

Schedule published(const Arrangement& candidate) {
  return lower(gpipe(candidate.stages, candidate.micro_batches),
               {.recompute = true, .update = true});
}

}  // namespace

// Biases everywhere, a softmax matrix of its own and no norm before it give the paper's counts to
// the last digit it prints.
Work transformer(int64_t layers) {
  ModelConfig config;
  config.layers = layers;
  config.width = 2048;
  config.hidden = 8192;
  config.heads = kHeads;
  config.context = kContext;
  config.vocabulary = 32000;
  config.final_norm = false;
  return {config, 32};
}

Work amoebanet(int64_t layers, int64_t filters) {
  ModelConfig config;
  config.kind = "amoebanet-d";
  config.layers = layers;
  config.filters = filters;
  config.image = {3, 224, 224};
  config.classes = 1000;
  return {config, 128};
}

int64_t count_parameters(const Work& work) {
  const Sequential model = build_model(work.model, 0, 0);
  ParameterSet set;
  for (const auto& layer : model.layers) layer->declare(set);
  return set.declared().elements();
}

Arrangement gpipe_run(const Work& work, int stages, int micro_batches) {
  const bool naive = stages == 1 && micro_batches == 1;
  return {.stages = stages,
          .micro_batches = micro_batches,
          .micro_batch_size = work.mini_batch / micro_batches,
          .schedule = "gpipe",
          .recompute = naive ? "none" : "stage"};
}

Bytes bytes_of(const Arrangement& candidate, const DeviceModel& device, const Work& work) {
  const ModelCosts costs = costs_of(device, work, candidate.cut());
  const ChosenSplit chosen =
      choose_split(candidate, schedule_of(candidate), costs, {.memory_bytes = device.memory_bytes});
  Bytes bytes;
  bytes.fits = chosen.fits;
  for (const RankMemory& rank : chosen.memory) {
    bytes.parameters += rank.parameters + rank.gradients + rank.optimizer;
    bytes.activations += rank.activations;
    bytes.fullest = std::max(bytes.fullest, rank.total());
  }
  return bytes;
}

int64_t largest(int stages, int micro_batches, const DeviceModel& device,
                const std::function<Work(int64_t n)>& work_of) {
  const auto fits = [&](int64_t n) {
    const Work work = work_of(n);
    const auto parts = static_cast<int>(build_model(work.model, 0, 0).layers.size());
    return parts < stages || bytes_of(gpipe_run(work, stages, micro_batches), device, work).fits;
  };
  int64_t most = 0;
  int64_t too_many = 1;
  while (fits(too_many)) most = std::exchange(too_many, 2 * too_many);
  while (too_many - most > 1) {
    const int64_t middle = (most + too_many) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  return most;
}

Speed simulated(Arrangement candidate, const DeviceModel& device, const Work& work,
                bool as_published) {
  const ModelCosts costs = costs_of(device, work, candidate.cut());
  const Schedule schedule = as_published ? published(candidate) : schedule_of(candidate);
  candidate.split = choose_split(candidate, schedule, costs, {}).split;
  const Prediction prediction = predict(candidate, schedule, costs, usual_cluster(device));
  return {.samples_per_s = prediction.samples_per_s,
          .fits = prediction.fullest_bytes() <= device.memory_bytes,
          .imbalance = imbalance(candidate, schedule, costs),
          .candidate = candidate};
}

Speed planned(const Arrangement& as, const DeviceModel& device, const Work& work) {
  PlanRequest request;
  request.ranks = as.ranks();
  request.mini_batch = work.mini_batch;
  request.cluster = usual_cluster(device);
  request.costs = [&](MicroBatches cut) { return costs_of(device, work, cut); };
  request.replicas = 1;
  request.micro_batches = as.micro_batches;
  request.wanted = 1;
  Plan found = plan(request);
  const bool fits = found.best() != nullptr;
  if (!fits) {
    request.cluster.memory_bytes = 0;
    found = plan(request);
  }
  const PlannedCandidate& best = *found.best();
  return {.samples_per_s = best.prediction.samples_per_s,
          .fits = fits,
          .imbalance = imbalance(best.candidate, schedule_of(best.candidate),
                                 costs_of(device, work, best.candidate.cut())),
          .candidate = best.candidate};
}

}  // namespace penstock::paper
