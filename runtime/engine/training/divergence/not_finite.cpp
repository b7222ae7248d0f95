#include "runtime/engine/training/divergence/not_finite.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernels/bfloat16.h"
#include "runtime/network/layers/observer.h"

namespace penstock {
namespace {

// This says which numbers are not finite, and where they are. Of several findings the one that
// comes first counts: one in a forward before one in a backward, then the lowest micro-batch, then
// the place in the pass (layers from the first to the last in a forward, from the last to the first
// in a backward).
struct Finding {
  int64_t backward = 0, micro_batch = 0, place = 0;
  std::string what;

  [[nodiscard]] bool is_before(const Finding& other) const {
    return std::array{backward, micro_batch, place} <
           std::array{other.backward, other.micro_batch, other.place};
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(backward) + " " + std::to_string(micro_batch) + " " +
           std::to_string(place) + " " + what;
  }
};

Finding finding_of(const std::string& text) {
  Finding finding;
  std::array<size_t, 3> ends{};
  size_t at = 0;
  for (size_t& end : ends) {
    end = text.find(' ', at);
    at = end + 1;
  }
  finding.backward = std::stoll(text.substr(0, ends[0]));
  finding.micro_batch = std::stoll(text.substr(ends[0] + 1));
  finding.place = std::stoll(text.substr(ends[1] + 1));
  finding.what = text.substr(ends[2] + 1);
  return finding;
}

class Search final : public LayerObserver {
 public:
  Search(const Layers& layers, Device& device) : device_(device) {
    for (const auto& layer : layers) places_.emplace(layer->name(), std::ssize(places_));
  }

  void output(const std::string& layer, int64_t micro_batch,
              std::span<const Variable> outputs) override {
    const auto is_bad = [this](const Variable& output) { return !is_finite(output.value); };
    if (!std::any_of(outputs.begin(), outputs.end(), is_bad)) return;
    note({.backward = 0,
          .micro_batch = micro_batch,
          .place = places_.at(layer),
          .what = "the output of layer '" + layer + "'"});
  }
  void gradient(const std::string& layer, int64_t micro_batch,
                const Parameter& parameter) override {
    if (is_finite(parameter.gradient)) return;
    note({.backward = 1,
          .micro_batch = micro_batch,
          .place = -places_.at(layer),
          .what = "the gradient of '" + parameter.name + "'"});
  }
  void loss(const std::string& layer, int64_t micro_batch, const Tensor& loss) {
    if (is_finite(loss)) return;
    note({.backward = 0,
          .micro_batch = micro_batch,
          .place = std::ssize(places_),
          .what = "the loss of layer '" + layer + "'"});
  }
  [[nodiscard]] const std::optional<Finding>& first() const { return first_; }

 private:
  void note(Finding finding) {
    if (!first_ || finding.is_before(*first_)) first_ = std::move(finding);
  }

  template <class Number, class Value>
  bool all_finite(const Tensor& tensor, Value value) {
    std::vector<Number> numbers(static_cast<size_t>(tensor.elements()));
    device_.copy_to_host(numbers.data(), tensor, tensor.size_bytes());
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](Number number) { return std::isfinite(value(number)); });
  }
  bool is_finite(const Tensor& tensor) {
    if (!tensor || tensor.elements() == 0) return true;
    switch (tensor.dtype()) {
      case DType::F32:
        return all_finite<float>(tensor, [](float x) { return x; });
      case DType::F64:
        return all_finite<double>(tensor, [](double x) { return x; });
      case DType::BF16:
        return all_finite<bfloat16>(tensor, [](bfloat16 x) { return static_cast<float>(x); });
      default:
        return true;
    }
  }

  Device& device_;
  std::unordered_map<std::string, int64_t> places_;  // place of a layer in the network, by name
  std::optional<Finding> first_;
};

std::string clause(const Finding& finding) {
  return "first in " + finding.what + ", micro-batch " + std::to_string(finding.micro_batch);
}

}  // namespace

std::string find_not_finite(Pipeline& pipeline, const StepInput& input, const Station& station) {
  const ActivityScope looking(station.network.activity_log(),
                              {.activity = Activity::Diagnosis, .step = input.pass.step});
  const Layers& layers = pipeline.blueprint().model.layers;
  Search search(layers, station.device);
  StepInput again = input;
  again.pass.probe = &search;
  again.update = [] {};
  pipeline.begin_step();
  pipeline.run(again);
  if (const Stage* last = pipeline.loss_stage(); last != nullptr) {
    for (size_t m = 0; m < input.batches.size(); ++m) {
      search.loss(layers.back()->name(), input.pass.first_micro_batch + static_cast<int64_t>(m),
                  last->losses(static_cast<int>(m)).loss);
    }
  }
  Collective& world = station.network.world();
  const std::string mine = search.first() ? search.first()->text() : "";
  std::optional<Finding> first;
  for (const std::string& text : world.gather_text(mine)) {
    if (text.empty()) continue;
    const Finding finding = finding_of(text);
    if (!first || finding.is_before(*first)) first = finding;
  }
  return world.broadcast(first ? clause(*first)
                               : "in a second pass over the same samples all was finite, as after "
                                 "a fault of the hardware",
                         0);
}

}  // namespace penstock
