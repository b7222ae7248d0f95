#include "runtime/engine/training/expert_loads.h"

#include <algorithm>
#include <cmath>

#include "runtime/network/layers/library/experts.h"

namespace penstock {

ExpertLoads::ExpertLoads(const Pipeline& pipeline, Collective& pipeline_ranks, Device& device)
    : pipeline_(pipeline),
      ranks_(pipeline_ranks),
      device_(device),
      counts_(static_cast<size_t>(pipeline_ranks.size()), 0) {
  const Blueprint& blueprint = pipeline.blueprint();
  const std::vector<int>& rank_of_stage = blueprint.programs.training.rank_of_stage;
  std::vector<size_t> rank_of_mixture;
  ParameterSet network;  // holds no tensors
  for (int stage = 0; stage < blueprint.layout.stages; ++stage) {
    const size_t known = network.declared().step_sums.size();
    for (const auto& layer : blueprint.layout.layers_of(blueprint.model, stage)) {
      layer->declare(network);
    }
    const auto& sums = network.declared().step_sums;
    for (auto each = sums.begin() + static_cast<std::ptrdiff_t>(known); each != sums.end();
         ++each) {
      if (!counts_experts(*each)) continue;
      mixtures_.push_back({.layer = each->name.substr(0, each->name.size() - kExpertRows.size()),
                           .experts = static_cast<size_t>(each->shape.elements())});
      rank_of_mixture.push_back(static_cast<size_t>(rank_of_stage[static_cast<size_t>(stage)]));
    }
  }
  // The numbers go by rank, and those of a rank by layer.
  size_t all = 0;
  for (size_t rank = 0; rank < counts_.size(); ++rank) {
    const size_t before = all;
    for (size_t i = 0; i < mixtures_.size(); ++i) {
      if (rank_of_mixture[i] != rank) continue;
      mixtures_[i].first = all;
      all += mixtures_[i].experts;
    }
    counts_[rank] = static_cast<int>(all - before);
  }
  all_.resize(all);
  here_.resize(static_cast<size_t>(counts_[static_cast<size_t>(ranks_.rank())]));
  read_.resize(here_.size());
}

std::span<const double> ExpertLoads::here() {
  size_t at = 0;
  for (const auto& stage : pipeline_.stages()) {
    for (const StepSums& sums : stage->weights().set().declared().step_sums) {
      if (!counts_experts(sums)) continue;
      const auto experts = static_cast<size_t>(sums.value.elements());
      device_.copy_to_host(read_.data() + at, sums.value, experts * sizeof(float));
      at += experts;
    }
  }
  std::copy(read_.begin(), read_.end(), here_.begin());
  return here_;
}

std::vector<ExpertLoad> ExpertLoads::of(std::span<const double> numbers) const {
  std::vector<ExpertLoad> loads;
  for (const Mixture& mixture : mixtures_) {
    ExpertLoad& load = loads.emplace_back(ExpertLoad{.layer = mixture.layer});
    for (const double rows : numbers.subspan(mixture.first, mixture.experts)) {
      load.rows.push_back(std::llround(rows));
    }
  }
  return loads;
}

std::vector<ExpertLoad> ExpertLoads::gather() {
  if (all_.empty()) return {};
  ranks_.gather(here(), counts_, all_);
  return ranks_.rank() == 0 ? of(all_) : std::vector<ExpertLoad>();
}

}  // namespace penstock
