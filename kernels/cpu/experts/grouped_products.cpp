#include "kernels/cpu/experts/grouped_products.h"

#include <cstring>

#include "kernels/cpu/experts/expert_pieces.h"
#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/loops/transposed.h"
#include "kernels/cpu/onednn/thread_products.h"
#include "kernels/ops/expert_sizes.h"

namespace penstock {
namespace {

// The type in which the processor multiplies numbers of that type.
DType multiplied(const CpuContext& context, DType type) {
  return context.dnn.native_bf16() ? type : DType::F32;
}

// The tensor itself, or an fp32 copy where the processor does not multiply its numbers.
Tensor operand(const CpuContext& context, const Tensor& t) {
  if (t.dtype() == multiplied(context, t.dtype())) return t;
  Tensor copy = scratch(context, t.elements(), DType::F32);
  map(context, copy.data<float>(), t.data<bfloat16>(), t.elements(), [](float x) { return x; });
  return copy;
}

// Two buffers of each thread.
class Buffers {
 public:
  Buffers(const CpuContext& context, const PieceBuffers& sizes)
      : sizes_(sizes), memory_(scratch(context, sizes.bytes() * context.threads, DType::U8)) {}
  [[nodiscard]] std::byte* first(int thread) {
    return static_cast<std::byte*>(memory_.raw()) + thread * sizes_.bytes();
  }
  [[nodiscard]] std::byte* second(int thread) { return first(thread) + sizes_.second_at(); }

 private:
  PieceBuffers sizes_;
  Tensor memory_;
};

int64_t bytes_of(int64_t elements, DType type) {
  return elements * static_cast<int64_t>(size_of(type));
}

// The rows of a piece of t [rows, width]: where they lie, or in `buffer`, followed by zeros, where
// they are fewer than `height`.
const std::byte* rows_of(const Tensor& t, int64_t width, const PieceOfRows& piece, int64_t height,
                         std::byte* buffer) {
  const int64_t line = bytes_of(width, t.dtype());
  const std::byte* rows = static_cast<const std::byte*>(t.raw()) + piece.first * line;
  if (piece.rows == height) return rows;
  std::memcpy(buffer, rows, static_cast<size_t>(piece.rows * line));
  std::memset(buffer + piece.rows * line, 0, static_cast<size_t>((height - piece.rows) * line));
  return buffer;
}

template <class T>
void store(T* to, const float* from, int64_t elements) {
#pragma GCC ivdep
  for (int64_t i = 0; i < elements; ++i) to[i] = static_cast<T>(from[i]);
}

// to[rows, columns] = the first `rows` columns of from[columns, kForwardHeights.back()]
template <class T>
void store_transposed(T* to, const float* from, int64_t rows, int64_t columns) {
  constexpr int64_t kWide = kForwardHeights.back();
  for (int64_t c = 0; c < columns; c += kRow) {
    const int64_t count = std::min(kRow, columns - c);
    for (int64_t r = 0; r < rows; r += kRow) {
      Rows block{};
      for (int64_t i = 0; i < count; ++i) {
        block[static_cast<size_t>(i)] = load_row(from + (c + i) * kWide + r);
      }
      block = transposed(block);
      for (int64_t i = 0; i < std::min(kRow, rows - r); ++i) {
        float line[kRow];
        store_row(line, block[static_cast<size_t>(i)]);
        store(to + (r + i) * columns + c, line, count);
      }
    }
  }
}

// The matrices that a product of rows of that type reads: bf16 rows meet rounded ones.
Tensor matrices(const CpuContext& context, Weight& w, DType rows) {
  return rows == DType::BF16 ? context.dnn.value_as(w, rows) : w.value();
}

// Calls multiply(thread, expert, piece) for all pieces of the rows of the experts [first, end), in
// parallel. Each thread walks over all pieces and takes its share: a list of them would be memory
// whose size no one knows before the rows are routed.
template <class Multiply>
void for_pieces_of_experts(const CpuContext& context, const int32_t* offset, int64_t first,
                           int64_t end, std::span<const int64_t> heights,
                           const Multiply& multiply) {
  const auto walk = [&](const auto& body) {
    int64_t i = 0;
    for (int64_t e = first; e < end; ++e) {
      for_pieces(offset[e], offset[e + 1], heights,
                 [&](const PieceOfRows& piece) { body(i++, e, piece); });
    }
    return i;
  };
  const int64_t pieces = walk([](int64_t, int64_t, const PieceOfRows&) {});
  const auto shares = static_cast<int>(std::min<int64_t>(context.threads, pieces));
  for_shares(context.threads, shares, [&](int share) {
    walk([&](int64_t i, int64_t expert, const PieceOfRows& piece) {
      if (i >= pieces * share / shares && i < pieces * (share + 1) / shares) {
        multiply(share, expert, piece);
      }
    });
  });
}

// Calls multiply(thread, piece, matrix of the piece's expert) for all pieces, in parallel. The
// matrices w, one of in x out numbers for each expert, have the type that the processor multiplies,
// or are widened.
template <class Multiply>
void multiply_pieces(const CpuContext& context, const Tensor& w, const GroupedSizes& sizes,
                     const Tensor& offsets, std::span<const int64_t> heights,
                     const Multiply& multiply) {
  const int64_t size = sizes.in * sizes.out;
  const auto* offset = offsets.data<int32_t>();
  if (w.dtype() == multiplied(context, w.dtype())) {
    const auto* matrices = static_cast<const std::byte*>(w.raw());
    for_pieces_of_experts(context, offset, 0, sizes.experts, heights,
                          [&](int thread, int64_t expert, const PieceOfRows& piece) {
                            multiply(thread, piece, matrices + bytes_of(expert * size, w.dtype()));
                          });
    return;
  }
  // One expert's matrix is widened at a time: all of them would take a stage's memory.
  const Tensor wide = scratch(context, size, DType::F32);
  for (int64_t e = 0; e < sizes.experts; ++e) {
    if (offset[e] == offset[e + 1]) continue;
    map(context, wide.data<float>(), w.data<bfloat16>() + e * size, size,
        [](float x) { return x; });
    for_pieces_of_experts(context, offset, e, e + 1, heights,
                          [&](int thread, int64_t, const PieceOfRows& piece) {
                            multiply(thread, piece, static_cast<const std::byte*>(wide.raw()));
                          });
  }
}

// The products of rows of an expert by its matrix, and how many rows each takes. The last one has
// kForwardHeights.back() rows.
struct ForwardProducts {
  ProductPlans plans;
  boost::container::static_vector<int64_t, kForwardHeights.size()> heights;
};

// In the product of the fewest rows a weight is the first operand, read where it lies, and the rows
// are columns of the second one. With so few rows this is up to twice as fast as the product the
// other way round, for which the library copies the weight.
ForwardProducts forward_products(const CpuContext& context, const GroupedSizes& sizes, DType type,
                                 DType result) {
  constexpr int64_t kHeight = kForwardHeights.back();
  MatmulPlan narrow =
      linear_plan(LinearProduct::Forward, {sizes.out, sizes.in, kHeight, type, type});
  narrow.c_type = DType::F32;
  ForwardProducts all;
  const bool can_round = result == DType::F32 || result == type;
  for (const int64_t height : heights_for(context.threads, sizes.rows, kForwardHeights)) {
    if (height == kHeight || !can_round) continue;
    MatmulPlan wide =
        linear_plan(LinearProduct::Forward, {height, sizes.in, sizes.out, type, type});
    wide.c_type = result;
    if (!ThreadProducts::agree(context.dnn, wide, narrow)) continue;
    all.plans.push_back(wide);
    all.heights.push_back(height);
  }
  all.plans.push_back(narrow);
  all.heights.push_back(kHeight);
  return all;
}

// The gradient of the inputs, multiplied in fp32, by gemm as that of the weights: it takes any
// number of rows, and is faster on operands that no cache holds than primitives of a few heights
// (bench/README.md, mixtures of experts).
void input_gradient(CpuContext& context, Tensor& dx, const Tensor& rows, const Tensor& value,
                    const Tensor& offsets, const GroupedSizes& sizes) {
  const int64_t in = sizes.in;
  const int64_t out = sizes.out;
  const bool rounds = dx.dtype() != DType::F32;
  ThreadProducts products(context.dnn);
  Buffers buffers(context, rounds ? rounded_gradient_buffers(in) : PieceBuffers{});
  constexpr std::array heights = {kGradientRows};
  multiply_pieces(
      context, value, sizes, offsets, heights,
      [&](int thread, const PieceOfRows& piece, const std::byte* matrix) {
        float* to = rounds ? reinterpret_cast<float*>(buffers.first(thread))
                           : dx.data<float>() + piece.first * in;
        products.run({.m = piece.rows, .n = in, .k = out, .a_row = out, .b_row = in, .c_row = in},
                     to, rows.data<float>() + piece.first * out,
                     reinterpret_cast<const float*>(matrix));
        if (rounds) {
          store(dx.data<bfloat16>() + piece.first * in, to, piece.rows * in);
        }
      });
}

// Calls body(thread, expert, first row, rows) for the blocks of rows of the gradient of the
// weights, in parallel.
template <class Body>
void for_blocks(const CpuContext& context, const GroupedSizes& sizes, int64_t top_rows,
                const Body& body) {
  const int64_t blocks = (sizes.out + top_rows - 1) / top_rows;
  const int64_t all = sizes.experts * blocks;
  const auto shares = static_cast<int>(std::min<int64_t>(context.threads, all));
  for_shares(context.threads, shares, [&](int share) {
    for (int64_t i = all * share / shares; i < all * (share + 1) / shares; ++i) {
      const int64_t top = i % blocks * top_rows;
      body(share, i / blocks, top, std::min(top_rows, sizes.out - top));
    }
  });
}

// The gradient of the weights, multiplied in fp32.
void weight_gradient(CpuContext& context, Tensor& dw, const Tensor& inputs, const Tensor& gradients,
                     const Tensor& offsets, bool accumulate, const GroupedSizes& sizes) {
  const int64_t in = sizes.in;
  const int64_t out = sizes.out;
  const auto* offset = offsets.data<int32_t>();
  ThreadProducts products(context.dnn);
  for_blocks(context, sizes, kGradientRows, [&](int, int64_t expert, int64_t top, int64_t block) {
    const int64_t first = offset[expert];
    const int64_t rows = offset[expert + 1] - first;
    float* to = dw.data<float>() + (expert * out + top) * in;
    if (rows == 0) {
      if (!accumulate) std::fill_n(to, block * in, 0.0F);
      return;
    }
    products.run({.m = block,
                  .n = in,
                  .k = rows,
                  .a_row = out,
                  .b_row = in,
                  .c_row = in,
                  .a_transposed = true,
                  .accumulate = accumulate},
                 to, gradients.data<float>() + first * out + top,
                 inputs.data<float>() + first * in);
  });
}

}  // namespace

void grouped_forward(CpuContext& context, Tensor& y, const Tensor& x, Weight& w,
                     const Tensor& offsets) {
  const GroupedSizes sizes = grouped_sizes("grouped forward", y, x, w.value(), offsets);
  const int64_t in = sizes.in;
  const int64_t out = sizes.out;
  const Tensor rows = operand(context, x);
  const DType type = rows.dtype();
  const ForwardProducts by_height = forward_products(context, sizes, type, y.dtype());
  const Tensor value = matrices(context, w, type);
  ThreadProducts products(context.dnn, {by_height.plans.data(), by_height.plans.size()});
  Buffers buffers(context, forward_buffers(in, out, bytes_of(1, type)));
  const size_t narrow = by_height.plans.size() - 1;
  multiply_pieces(
      context, value, sizes, offsets, {by_height.heights.data(), by_height.heights.size()},
      [&](int thread, const PieceOfRows& piece, const std::byte* matrix) {
        if (piece.height != narrow) {
          auto* to = static_cast<std::byte*>(y.raw()) + bytes_of(piece.first * out, y.dtype());
          const auto* from =
              static_cast<const std::byte*>(rows.raw()) + bytes_of(piece.first * in, rows.dtype());
          return products.run(thread, piece.height, to, from, matrix);
        }
        auto* result = reinterpret_cast<float*>(buffers.second(thread));
        products.run(thread, narrow, result, matrix,
                     rows_of(rows, in, piece, kForwardHeights.back(), buffers.first(thread)));
        with_element_type(y.dtype(), "grouped forward", [&]<class T>(T) {
          store_transposed(y.data<T>() + piece.first * out, result, piece.rows, out);
        });
      });
}

void grouped_backward_input(CpuContext& context, Tensor& dx, const Tensor& g, Weight& w,
                            const Tensor& offsets) {
  const GroupedSizes sizes = grouped_sizes("grouped backward input", g, dx, w.value(), offsets);
  const int64_t in = sizes.in;
  const int64_t out = sizes.out;
  const Tensor rows = operand(context, g);
  const DType type = rows.dtype();
  const Tensor value = matrices(context, w, type);
  if (type == DType::F32) return input_gradient(context, dx, rows, value, offsets, sizes);
  ProductPlans plans;
  for (const int64_t height : kBackwardHeights) {
    plans.push_back(linear_plan(LinearProduct::InputGradient, {height, in, out, type, type}));
  }
  ThreadProducts products(context.dnn, {plans.data(), plans.size()});
  Buffers buffers(context, input_gradient_buffers(in, out));
  multiply_pieces(context, value, sizes, offsets, kBackwardHeights,
                  [&](int thread, const PieceOfRows& piece, const std::byte* matrix) {
                    const int64_t height = kBackwardHeights[piece.height];
                    const auto* from = rows_of(rows, out, piece, height, buffers.first(thread));
                    auto* to =
                        static_cast<std::byte*>(dx.raw()) + bytes_of(piece.first * in, dx.dtype());
                    if (piece.rows == height) {
                      return products.run(thread, piece.height, to, from, matrix);
                    }
                    std::byte* result = buffers.second(thread);
                    products.run(thread, piece.height, result, from, matrix);
                    std::memcpy(to, result, static_cast<size_t>(bytes_of(piece.rows * in, type)));
                  });
}

void grouped_backward_weight(CpuContext& context, Tensor& dw, const Tensor& x, const Tensor& g,
                             const Tensor& offsets, bool accumulate) {
  require_sum("grouped backward weight", dw);
  const GroupedSizes sizes = grouped_sizes("grouped backward weight", g, x, dw, offsets);
  const int64_t in = sizes.in;
  const int64_t out = sizes.out;
  const Tensor inputs = operand(context, x);
  const Tensor gradients = operand(context, g);
  const DType type = inputs.dtype();
  if (type == DType::F32) {
    return weight_gradient(context, dw, inputs, gradients, offsets, accumulate, sizes);
  }
  const int64_t top_rows = std::min(kGradientRows, out);
  ProductPlans plans;
  // The rows of dw come in blocks of top_rows; what is left over has plans of its own, which
  // follow.
  for (const int64_t block : {top_rows, out % top_rows}) {
    if (block == 0) continue;
    for (const int64_t height : kBackwardHeights) {
      plans.push_back(
          linear_plan(LinearProduct::WeightGradient, {height, in, block, type, type}, true));
      plans.back().a = {0, 1, out};  // some of the columns of g
    }
  }
  ThreadProducts products(context.dnn, {plans.data(), plans.size()});
  Buffers buffers(context, weight_gradient_buffers(in, out));
  const auto* offset = offsets.data<int32_t>();
  for_blocks(context, sizes, top_rows, [&](int thread, int64_t expert, int64_t top, int64_t block) {
    float* to = dw.data<float>() + (expert * out + top) * in;
    if (!accumulate) std::fill_n(to, block * in, 0.0F);
    const size_t first_plan = block == top_rows ? 0 : kBackwardHeights.size();
    for_pieces(offset[expert], offset[expert + 1], kBackwardHeights, [&](const PieceOfRows& piece) {
      const int64_t height = kBackwardHeights[piece.height];
      const auto* a = rows_of(gradients, out, piece, height, buffers.second(thread));
      const auto* b = rows_of(inputs, in, piece, height, buffers.first(thread));
      products.run(thread, first_plan + piece.height, to, a + bytes_of(top, type), b);
    });
  });
}

}  // namespace penstock
