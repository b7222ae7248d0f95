#include "kernels/cuda/queue/tensor_table.h"

#include <cstring>
#include <utility>

namespace penstock {
namespace {

// This many tables are kept. A run has a handful of lists of tensors (weights, averages,
// gradients), and each list needs one table.
constexpr size_t kTables = 16;

bool same(std::span<const TensorRow> a, std::span<const TensorRow> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

int64_t TensorRow::pieces() const {
  return (elements + kPiece - 1) / kPiece;
}

TensorTable TensorTables::of(std::span<TensorRow> rows) {
  int64_t count = 0;
  for (TensorRow& row : rows) {
    row.first_piece = count;
    count += row.pieces();
  }
  for (const Known& known : known_) {
    if (same(known.rows, rows)) return table(known);
  }
  if (known_.size() == kTables) known_.erase(known_.begin());
  known_.push_back({{rows.begin(), rows.end()}, {}, {}, count});
  upload(known_.back());
  return table(known_.back());
}

TensorTable TensorTables::table(const Known& known) {
  const auto* rows = static_cast<const TensorRow*>(known.on_device.raw());
  return {rows, reinterpret_cast<const Piece*>(rows + known.rows.size()), known.count};
}

void TensorTables::upload(Known& known) {
  const size_t row_bytes = known.rows.size() * sizeof(TensorRow);
  known.on_host.resize(row_bytes + static_cast<size_t>(known.count) * sizeof(Piece));
  std::memcpy(known.on_host.data(), known.rows.data(), row_bytes);
  std::byte* at = known.on_host.data() + row_bytes;
  for (size_t r = 0; r < known.rows.size(); ++r) {
    for (int64_t p = 0; p < known.rows[r].pieces(); ++p, at += sizeof(Piece)) {
      const Piece piece{static_cast<uint32_t>(r), static_cast<uint32_t>(p)};
      std::memcpy(at, &piece, sizeof(piece));
    }
  }
  known.on_device = context_.scratch({static_cast<int64_t>(known.on_host.size())}, DType::U8);
  context_.queue.flush();
  PENSTOCK_CUDA(cudaMemcpyAsync(known.on_device.raw(), known.on_host.data(), known.on_host.size(),
                                cudaMemcpyHostToDevice, context_.queue.stream()));
}

}  // namespace penstock
