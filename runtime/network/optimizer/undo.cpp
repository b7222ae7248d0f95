#include "runtime/network/optimizer/undo.h"

#include "kernels/ops/pointwise.h"

namespace penstock {

void Undo::allocate(StateRange range, Device& device) {
  device_ = &device;
  const auto add = [&](std::vector<Copy>& copies, const Tensor& live) {
    if (live.elements() == 0) return;
    copies.push_back({live, device.empty(live.shape(), DType::F32, Purpose::Optimizer)});
  };
  for (StateEntry* entry : range) {
    if (!entry->trained) continue;
    if (!entry->is_parameter()) {
      add(statistics_, entry->value);
      continue;
    }
    if (entry->own_elements() == 0) continue;
    changed_.push_back(entry);
    add(updated_, entry->own_part(entry->value));
    for (const StateSlot& slot : entry->states) add(updated_, slot.tensor);
  }
}

void Undo::save() {
  for (auto* copies : {&updated_, &statistics_}) {
    for (Copy& copy : *copies) device_->pointwise().copy(copy.saved, copy.live);
  }
}

void Undo::write(const std::vector<Copy>& copies) {
  for (const Copy& copy : copies) {
    Tensor live = copy.live;
    device_->pointwise().copy(live, copy.saved);
  }
}

void Undo::restore() {
  write(updated_);
  for (StateEntry* entry : changed_) entry->changed();
}

void Undo::restore_statistics() {
  write(statistics_);
}

}  // namespace penstock
