#include "runtime/network/optimizer/update_audit.h"

#include <algorithm>

#include "kernels/ops/pointwise.h"
#include "kernels/ops/update.h"
#include "kernels/philox.h"

namespace penstock {

static_assert(UpdateAudit::kStretch % kSquaresBlock == 0);

UpdateAudit::UpdateAudit(StateRange range, Device& device)
    : first_stretch_{0}, device_(device), sums_(device) {
  for (StateEntry* entry : range) {
    if (!entry->trained || !entry->is_parameter() || !entry->gradient) continue;
    if (entry->own_elements() == 0) continue;
    updated_.push_back(entry);
    const bool whole = entry->updated_whole;
    make_room(0, whole ? entry->elements() : kStretch);
    for (size_t i = 0; i < entry->states.size(); ++i) {
      make_room(i + 1, whole ? entry->states[i].tensor.elements() : kStretch);
    }
    const int64_t stretches = whole ? 1 : (entry->own_elements() + kStretch - 1) / kStretch;
    first_stretch_.push_back(first_stretch_.back() + stretches);
  }
}

void UpdateAudit::make_room(size_t number, int64_t elements) {
  if (longest_.size() <= number) longest_.resize(number + 1, 0);
  longest_[number] = std::max(longest_[number], elements);
}

void UpdateAudit::before(uint64_t seed, int64_t step, int rank) {
  drawn_ = nullptr;
  copies_.clear();
  if (updated_.empty()) return;
  const RandomStream stream =
      random_stream(seed, hash_name("audit of the update"), static_cast<uint64_t>(step),
                    static_cast<uint64_t>(rank));
  const auto words = philox(stream, 0);
  const auto drawn = static_cast<int64_t>((uint64_t{words[0]} << 32 | words[1]) %
                                          static_cast<uint64_t>(first_stretch_.back()));
  const auto next = std::ranges::upper_bound(first_stretch_, drawn);
  const auto which = static_cast<size_t>(next - first_stretch_.begin()) - 1;
  drawn_ = updated_[which];
  const int64_t first = (drawn - first_stretch_[which]) * kStretch;
  const int64_t most = drawn_->updated_whole ? drawn_->elements() : kStretch;
  const auto stretch_of = [&](const Tensor& own) {
    return own.view(first, {std::min(most, own.elements() - first)});
  };
  const auto memory = [&](size_t number, int64_t elements) {
    while (memory_.size() <= number) {
      memory_.push_back(
          device_.empty({longest_[memory_.size() / 2]}, DType::F32, Purpose::Workspace));
    }
    return memory_[number].view(0, {elements});
  };
  const auto keep = [&](const Tensor& own) {
    const size_t number = 2 * copies_.size();
    const Tensor live = stretch_of(own);
    Copy copy{live, memory(number, live.elements()), memory(number + 1, live.elements())};
    device_.pointwise().copy(copy.kept, copy.live);
    copies_.push_back(std::move(copy));
  };
  keep(drawn_->own_part(drawn_->value));
  for (const StateSlot& slot : drawn_->states) keep(slot.tensor);
  gradient_ = stretch_of(drawn_->own_part(drawn_->gradient));
}

void UpdateAudit::update_again(Optimizer& optimizer, double learning_rate, double gradient_scale) {
  StateEntry copy;
  copy.kind = drawn_->kind;
  copy.decayed = drawn_->decayed;
  copy.updated_whole = drawn_->updated_whole;
  copy.gradient = gradient_;
  for (size_t i = 0; i < copies_.size(); ++i) {
    device_.pointwise().copy(copies_[i].again, copies_[i].kept);
    const Tensor& value = copies_[0].again;
    if (i == 0) copy.value = copy.updated_whole ? value.reshaped(drawn_->value.shape()) : value;
    if (i > 0) copy.states.push_back({drawn_->states[i - 1].name, copies_[i].again});
  }
  optimizer.repeat(copy, learning_rate, gradient_scale);
}

uint64_t UpdateAudit::sum_of(Tensor Copy::*which) {
  sums_.clear();
  for (const Copy& copy : copies_) sums_.add(copy.*which);
  uint64_t all = 0;
  for (const uint64_t sum : sums_.read()) all = mix(all ^ sum);
  return all;
}

std::optional<UpdateAudit::Finding> UpdateAudit::after(Optimizer& optimizer, double learning_rate,
                                                       double gradient_scale) {
  if (drawn_ == nullptr) return std::nullopt;
  update_again(optimizer, learning_rate, gradient_scale);
  Finding finding{
      .parameter = drawn_->name, .first = sum_of(&Copy::live), .second = sum_of(&Copy::again)};
  if (finding.first == finding.second) return std::nullopt;
  update_again(optimizer, learning_rate, gradient_scale);
  const uint64_t third = sum_of(&Copy::again);
  finding.corrected = third == finding.first || third == finding.second;
  if (third != finding.second) return finding;  // the first was right, or all three differ
  for (Copy& copy : copies_) device_.pointwise().copy(copy.live, copy.again);
  drawn_->changed();
  return finding;
}

}  // namespace penstock
