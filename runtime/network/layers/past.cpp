#include "runtime/network/layers/past.h"

#include "kernels/error.h"
#include "kernels/ops/pointwise.h"

namespace penstock {
namespace {

int64_t row_size(const Tensor& all) {
  return all.elements() / all.dim(0);
}

// Copies a row of `from` to the beginning of a row of `to`, which is at least as long.
void copy_row(Device& device, const Tensor& to, int64_t to_row, const Tensor& from,
              int64_t from_row) {
  const int64_t elements = row_size(from);
  Tensor there = to.view(to_row * row_size(to), {elements});
  device.pointwise().copy(there, from.view(from_row * elements, {elements}));
}

}  // namespace

Past::Kept& Past::of(uint64_t attention, int64_t micro_batch) {
  Kept& kept = kept_[attention][micro_batch];
  if (!kept.keys) fail_internal("a position is computed whose row has no past");
  return kept;
}

// Returns tensors of zeros for all positions. Rows that hold nothing yet are computed with, too, so
// they must hold numbers.
Tensor Past::nothing_of(Device& device, const Tensor& now) const {
  return device.zeros({now.dim(0), positions_, now.dim(2)}, now.dtype(), Purpose::Activations);
}

void Past::remember(Device& device, uint64_t attention, int64_t micro_batch, const Kept& now,
                    std::span<const int64_t> rows) {
  Kept& kept = kept_[attention][micro_batch];
  if (!kept.keys) {
    kept.keys = nothing_of(device, now.keys);
    kept.values = nothing_of(device, now.values);
  }
  for (const int64_t row : rows) {
    copy_row(device, kept.keys, row, now.keys, row);
    copy_row(device, kept.values, row, now.values, row);
  }
}

void Past::move_rows(Device& device, std::span<const Move> moves, int64_t first_micro_batch,
                     int64_t batch) {
  if (moves.empty()) return;
  const auto move = [&](std::map<int64_t, Kept>& by_micro_batch, Tensor Kept::*member) {
    const auto tensor_of = [&](int64_t row) -> const Tensor& {
      return by_micro_batch.at(first_micro_batch + row / batch).*member;
    };
    const Tensor& any = tensor_of(moves[0].from);
    const Tensor copies = device.empty({std::ssize(moves), any.elements() / batch}, any.dtype(),
                                       Purpose::Activations);
    for (int64_t i = 0; i < std::ssize(moves); ++i) {
      const int64_t from = moves[static_cast<size_t>(i)].from;
      copy_row(device, copies, i, tensor_of(from), from % batch);
    }
    for (int64_t i = 0; i < std::ssize(moves); ++i) {
      const int64_t to = moves[static_cast<size_t>(i)].to;
      copy_row(device, tensor_of(to), to % batch, copies, i);
    }
  };
  for (auto& [attention, by_micro_batch] : kept_) {
    move(by_micro_batch, &Kept::keys);
    move(by_micro_batch, &Kept::values);
  }
}

}  // namespace penstock
