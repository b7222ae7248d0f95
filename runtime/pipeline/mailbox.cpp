#include "runtime/pipeline/mailbox.h"

#include <algorithm>
#include <utility>

namespace penstock {

Mailbox::Mailbox(const Schedule& schedule, const std::vector<SkipRoute>& skips)
    : edges_(schedule),
      stages_(schedule.stages),
      micro_batches_(schedule.micro_batches),
      skips_(skips),
      skips_on_(static_cast<size_t>(edges_.count()), 0),
      entering_(static_cast<size_t>(stages_)),
      leaving_(static_cast<size_t>(stages_)),
      forward_(skips_on_.size() * static_cast<size_t>(micro_batches_)),
      back_(forward_.size()) {
  std::vector<std::pair<size_t, Place>> pops;  // with the layer of each
  // Last stash first: the one after which as many come in the tuple as were counted so far.
  for (size_t i = skips_.size(); i-- > 0;) {
    const SkipRoute& skip = skips_[i];
    const int edge = edges_.between(skip.from, skip.to);
    const Place place{edge, ++skips_on_[static_cast<size_t>(edge)]};
    auto& leaving = leaving_[static_cast<size_t>(skip.from)];
    leaving.insert(leaving.begin(), place);
    pops.emplace_back(skip.to_layer, place);
  }
  std::sort(pops.begin(), pops.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [layer, place] : pops) {
    entering_[static_cast<size_t>(edges_.ends(place.edge).to)].push_back(place);
  }
}

std::vector<std::vector<TensorSpec>> Mailbox::tuples(
    const std::vector<std::vector<TensorSpec>>& boundaries) const {
  std::vector<std::vector<TensorSpec>> tuples(skips_on_.size());
  for (int s = 1; s < stages_; ++s) {
    tuples[static_cast<size_t>(s) - 1] = boundaries[static_cast<size_t>(s)];
  }
  for (const SkipRoute& skip : skips_) {
    tuples[static_cast<size_t>(edges_.between(skip.from, skip.to))].push_back(skip.spec);
  }
  return tuples;
}

void Mailbox::put_outputs(int stage, int micro_batch, Tensors outputs) {
  const auto& leaving = leaving_[static_cast<size_t>(stage)];
  const size_t chain = outputs.size() - leaving.size();
  if (stage + 1 < stages_) {
    Tensors& next = forward(stage, micro_batch);
    next.clear();
    for (size_t i = 0; i < chain; ++i) next.push_back(std::move(outputs[i]));
  }
  for (size_t i = 0; i < leaving.size(); ++i) {
    forward(leaving[i].edge, micro_batch).push_back(std::move(outputs[chain + i]));
  }
}

Tensors Mailbox::take_inputs(int stage, int micro_batch) {
  Tensors& before = forward(stage - 1, micro_batch);
  Tensors inputs;
  for (size_t i = 0; i + skips_on(stage - 1) < before.size(); ++i) {
    inputs.push_back(std::move(before[i]));
  }
  const auto& entering = entering_[static_cast<size_t>(stage)];
  for (const Place& place : entering) {
    Tensors& tuple = forward(place.edge, micro_batch);
    inputs.push_back(std::move(tuple[tuple.size() - place.from_end]));
  }
  for (const Place& place : entering) forward(place.edge, micro_batch).clear();
  before.clear();
  return inputs;
}

void Mailbox::put_input_gradients(int stage, int micro_batch, Tensors gradients) {
  if (stage == 0) return;  // of data there are none
  const auto& entering = entering_[static_cast<size_t>(stage)];
  const size_t chain = gradients.size() - entering.size();
  Tensors& before = back(stage - 1, micro_batch);
  before.resize(chain + skips_on(stage - 1));
  for (size_t i = 0; i < chain; ++i) before[i] = std::move(gradients[i]);
  for (size_t i = 0; i < entering.size(); ++i) {
    Tensors& tuple = back(entering[i].edge, micro_batch);
    if (tuple.empty()) tuple.resize(skips_on(entering[i].edge));
    tuple[tuple.size() - entering[i].from_end] = std::move(gradients[chain + i]);
  }
}

Tensors Mailbox::take_output_gradients(int stage, int micro_batch) {
  Tensors gradients;
  if (stage + 1 < stages_) {
    Tensors& next = back(stage, micro_batch);
    for (size_t i = 0; i + skips_on(stage) < next.size(); ++i) {
      gradients.push_back(std::move(next[i]));
    }
  }
  const auto& leaving = leaving_[static_cast<size_t>(stage)];
  for (const Place& place : leaving) {
    Tensors& tuple = back(place.edge, micro_batch);
    gradients.push_back(std::move(tuple[tuple.size() - place.from_end]));
  }
  for (const Place& place : leaving) back(place.edge, micro_batch).clear();
  if (stage + 1 < stages_) back(stage, micro_batch).clear();
  return gradients;
}

}  // namespace penstock
