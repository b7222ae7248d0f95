// kernels/cpu/experts/expert_pieces.h -- the pieces in which the rows of an expert are multiplied.
// Pure.
//
// How many rows an expert has changes from step to step, and a primitive of oneDNN is made for one
// number of rows. So rows are multiplied in pieces of a few heights, the last one filled up with
// zeros. Gradients in fp32 need no primitive (ThreadProducts::run() of a Gemm) and take the rows
// that there are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace penstock {

// Pieces of the last height define the bits of a row: what a row gets must not depend on how many
// other rows its expert has, and generating texts, where experts have a row or two, would be slower
// by as much as pieces are higher. The others are used where the processor's products are found to
// give rows the same bits (ThreadProducts::agree()).
constexpr std::array<int64_t, 4> kForwardHeights = {256, 128, 64, 16};
// Heights for gradients in bf16: nobody asks for the bits of a single row of a gradient.
constexpr std::array<int64_t, 4> kBackwardHeights = {128, 64, 32, 16};
// The rows of a gradient that are computed at a time: those of a weight's gradient stay in a core's
// cache, and those of an input's, in fp32, are shared out between threads.
constexpr int64_t kGradientRows = 128;

struct PieceOfRows {
  int64_t first, rows;
  size_t height;  // a place in the heights
};

// The heights that descend, without those of which `rows` rows would not make two pieces for each
// thread; the last one always stays.
[[nodiscard]] constexpr std::span<const int64_t> heights_for(int threads, int64_t rows,
                                                             std::span<const int64_t> heights) {
  while (heights.size() > 1 && 2 * heights.front() * threads > rows) heights = heights.subspan(1);
  return heights;
}

// Calls body(piece) for the pieces of the rows from `first` up to `end`. The heights descend.
template <class Body>
void for_pieces(int64_t first, int64_t end, std::span<const int64_t> heights, const Body& body) {
  for (size_t height = 0; height < heights.size(); ++height) {
    const bool smallest = height + 1 == heights.size();
    while (end - first >= heights[height] || (smallest && first < end)) {
      const int64_t rows = std::min(heights[height], end - first);
      body(PieceOfRows{first, rows, height});
      first += rows;
    }
  }
}

// Bytes of the two buffers that a thread has for a piece.
struct PieceBuffers {
  int64_t first, second;
  [[nodiscard]] constexpr int64_t second_at() const { return whole_lines(first); }
  [[nodiscard]] constexpr int64_t bytes() const { return second_at() + whole_lines(second); }

 private:
  // A line of the cache has 64 bytes.
  static constexpr int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }
};
// The buffers of the products of weights [out, in]: rows that are filled up, and results. A number
// that is multiplied has `number_bytes`.
[[nodiscard]] constexpr PieceBuffers forward_buffers(int64_t in, int64_t out,
                                                     int64_t number_bytes) {
  return {kForwardHeights.back() * in * number_bytes, kForwardHeights.back() * out * 4};
}
// Gradients of inputs that are computed in fp32 and then rounded.
[[nodiscard]] constexpr PieceBuffers rounded_gradient_buffers(int64_t in) {
  return {kGradientRows * in * 4, 0};
}
// Gradients that are multiplied in bf16: rows that are filled up, and results, or rows of x and
// rows of g.
[[nodiscard]] constexpr PieceBuffers input_gradient_buffers(int64_t in, int64_t out) {
  return {kBackwardHeights.back() * out * 2, kBackwardHeights.front() * in * 2};
}
[[nodiscard]] constexpr PieceBuffers weight_gradient_buffers(int64_t in, int64_t out) {
  return {kBackwardHeights.back() * in * 2, kBackwardHeights.back() * out * 2};
}

}  // namespace penstock
