// kernels/cuda/queue/tensor_table.h -- a list of tensors for one launch: a table on the device that
// says where the tensors lie, and which piece of which tensor each thread block works on.
//
// A table is made and uploaded when its list is first seen. A later call with the same list finds
// it: in the steady state nothing is allocated and nothing is sent. The last sixteen lists are
// kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/families.h"

namespace penstock {

// A member of a list, as a kernel reads it: the addresses, on the device, of a tensor and of others
// of the same size. Lists are compared as bytes, so it has no padding.
struct TensorRow {
  float* weight = nullptr;
  float* first = nullptr;   // the optimizer's first state tensor of the weight, or null
  float* second = nullptr;  // its second one, or null
  const float* gradient = nullptr;
  int64_t elements = 0;
  int64_t first_piece = 0;  // pieces of the members before this one
  float weight_decay = 0.0F;
  int32_t aligned = 0;  // 1: all addresses are multiples of 16 bytes
  // The number of pieces, each for a thread block, that the elements are cut into.
  [[nodiscard]] int64_t pieces() const;
};

inline constexpr int64_t kPiece = 4096;  // elements of a piece; a tensor's last may have fewer
// What a thread block works on: the elements of the list's member number `row` from piece * kPiece
// on.
struct Piece {
  uint32_t row, piece;
};

// The table of a list, for a kernel. TensorTables owns the memory.
struct TensorTable {
  const TensorRow* rows = nullptr;  // on the device
  const Piece* pieces = nullptr;    // on the device, `count` of them
  int64_t count = 0;
};

class TensorTables {
 public:
  // The context must outlive this.
  explicit TensorTables(CudaContext& context) : context_(context) {}

  // Returns the table of `rows`, in which it fills in first_piece. The table is valid until sixteen
  // other lists have been seen.
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
