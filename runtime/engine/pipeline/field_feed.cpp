#include "runtime/engine/pipeline/field_feed.h"

#include <algorithm>

namespace penstock {
namespace {

// There is one slot for each upload that is under way, and one for the upload that is waited for.
constexpr size_t kSlots = kDataAhead + 1;

}  // namespace

FieldFeed::FieldFeed(std::span<const Instruction> program, const std::vector<bool>& reads,
                     Device& device)
    : use_(data_use(program, reads)),
      first_used_(program.size(), -1),
      last_used_(program.size(), -1),
      device_(device) {
  for (size_t place = 0; place < use_.order.size(); ++place) {
    first_used_[use_.first[place]] = static_cast<int>(place);
    last_used_[use_.last[place]] = static_cast<int>(place);
  }
  if (!device.host_addressable()) lane_ = device.make_upload_lane(kSlots);
}

void FieldFeed::begin(std::span<const Batch> batches) {
  host_ = batches;
  batches_ = batches;
  uploaded_.clear();
  const bool some = std::any_of(batches.begin(), batches.end(),
                                [](const Batch& batch) { return !batch.tensors.empty(); });
  if (lane_ == nullptr || !some) return;
  uploaded_.resize(batches.size());
  for (size_t m = 0; m < batches.size(); ++m) {
    uploaded_[m].names = batches[m].names;
    uploaded_[m].samples = batches[m].samples;
  }
  batches_ = uploaded_;
  for (size_t place = 0; place < kDataAhead; ++place) start(place);
}

void FieldFeed::before(size_t instruction) {
  const int place = first_used_[instruction];
  if (place < 0 || !uploads()) return;
  start(static_cast<size_t>(place) + kDataAhead);
  lane_->join(static_cast<size_t>(place) % kSlots);
}

void FieldFeed::after(size_t instruction) {
  const int place = last_used_[instruction];
  if (place < 0 || !uploads()) return;
  uploaded_[static_cast<size_t>(use_.order[static_cast<size_t>(place)])].tensors.clear();
}

void FieldFeed::end() {
  for (Batch& batch : uploaded_) batch.tensors.clear();
}

void FieldFeed::start(size_t place) {
  if (place >= use_.order.size()) return;
  const auto m = static_cast<size_t>(use_.order[place]);
  std::vector<Tensor>& there = uploaded_[m].tensors;
  for (const Tensor& field : host_[m].tensors) {
    there.push_back(device_.empty(field.shape(), field.dtype(), Purpose::Workspace));
  }
  lane_->start(place % kSlots, there, host_[m].tensors);
}

}  // namespace penstock
