#include "runtime/engine/training/dry_run/pace.h"

#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "kernels/error.h"
#include "runtime/planning/blueprint/plan_request.h"
#include "runtime/planning/plan/stages/stage_costs.h"

namespace penstock {
namespace {

// The kinds of work of a stage: forward, recompute, the two halves of a backward, both at once, and
// the update.
constexpr size_t kKinds = 6;

size_t kind_of(Op op) {
  switch (op) {
    case Op::Forward:
      return 0;
    case Op::Recompute:
      return 1;
    case Op::BackwardInput:
      return 2;
    case Op::BackwardWeight:
      return 3;
    case Op::Backward:
      return 4;
    default:
      return 5;
  }
}

// The seconds of each kind, stage after stage.
std::vector<double> seconds_by_kind(const Blueprint& blueprint, const ModelCosts& costs,
                                    const std::string& recompute) {
  std::vector<double> all;
  std::span<const LayerCost> rest(costs.layers);
  for (const int layers : blueprint.layout.split()) {
    const auto stage = rest.first(static_cast<size_t>(layers));
    rest = rest.subspan(static_cast<size_t>(layers));
    const StageTimes times = stage_times(stage, recompute);
    double update = 0;
    for (const LayerCost& layer : stage) update += layer.update_s;
    all.insert(all.end(), {times.forward, times.recompute, times.backward_input,
                           times.backward_weight, times.backward, update});
  }
  return all;
}

}  // namespace

size_t pace_size(int stages) {
  return kKinds * static_cast<size_t>(stages);
}

std::vector<double> paces(const Config& config, const Blueprint& blueprint,
                          const DeviceModel& device, const DeviceKind& kind) {
  try {
    const std::shared_ptr<const Sequential> not_owned(std::shared_ptr<void>(), &blueprint.model);
    const MicroBatches cut = arrangement_of(config.pipeline).cut();
    const auto seconds = [&](const Devices& devices) {
      const auto costs = costs_by_cut(config, not_owned, blueprint.input, devices);
      return seconds_by_kind(blueprint, costs(cut), config.pipeline.recompute);
    };
    const std::vector<double> counted = seconds(like_devices(device));
    std::vector<double> factors = seconds({.kinds = {kind}});
    for (size_t i = 0; i < factors.size(); ++i) {
      factors[i] = counted[i] > 0 ? factors[i] / counted[i] : 1.0;
    }
    return factors;
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

std::function<double(int64_t)> pace_by_section(const Schedule& training, int position,
                                               std::vector<double> paces) {
  std::vector<double> by_place;
  int held = 0;  // a stage of this rank: the update is of all, which are alike
  for (const Instruction& instruction : training.program[static_cast<size_t>(position)]) {
    if (instruction.stage >= 0) held = instruction.stage;
    const auto stage = static_cast<size_t>(held);
    by_place.push_back(paces[kKinds * stage + kind_of(instruction.op)]);
  }
  return [by_place = std::move(by_place)](int64_t key) {
    const auto place = static_cast<size_t>(key);
    return place < by_place.size() ? by_place[place] : 1.0;
  };
}

}  // namespace penstock
