// kernels/cuda/queue/tensor_table.h -- a list of tensors for one launch: a table on the device of
// where they lie, and which piece of which tensor each thread block takes.
//
// A table is made and uploaded when its list is first seen, and found again as long as the list
// stays as it is: in the steady state nothing is allocated and nothing is sent.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/families.h"

namespace penstock {

// A member of a list, as a kernel reads it. Compared as bytes: no padding.
struct TensorRow {
  float* weight = nullptr;
  float* first = nullptr;   // state, or null
  float* second = nullptr;  // state, or null
  const float* gradient = nullptr;
  int64_t elements = 0;
  int64_t first_piece = 0;  // pieces of the members before this one
  float weight_decay = 0.0F;
  int32_t aligned = 0;                   // whether all are at multiples of 16 bytes
  [[nodiscard]] int64_t pieces() const;  // thread blocks that take its elements
};

// What a thread block takes: the kPiece elements of tensor `row` from piece * kPiece on.
inline constexpr int64_t kPiece = 4096;
struct Piece {
  uint32_t row, piece;
};

// The table of a list, for a kernel.
struct TensorTable {
  const TensorRow* rows = nullptr;  // on the device
  const Piece* pieces = nullptr;    // on the device, `count` of them
  int64_t count = 0;
};

class TensorTables {
 public:
  explicit TensorTables(CudaContext& context) : context_(context) {}

  // The table of `rows`, whose first_piece it fills in.
  [[nodiscard]] TensorTable of(std::span<TensorRow> rows);

 private:
  struct Known {
    std::vector<TensorRow> rows;
    std::vector<std::byte> on_host;  // the bytes that were sent
    Tensor on_device;
    int64_t count = 0;
  };
  [[nodiscard]] static TensorTable table(const Known& known);
  void upload(Known& known);

  CudaContext& context_;
  std::vector<Known> known_;
};

}  // namespace penstock
