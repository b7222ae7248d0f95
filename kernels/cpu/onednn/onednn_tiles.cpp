// kernels/cpu/onednn/onednn_tiles.cpp -- products from copies in the order of AMX's tiles, in parts
// that stay in a core's cache.
#include <algorithm>

#include "kernels/cpu/loops/tiled_operands.h"
#include "kernels/cpu/onednn/onednn_state.h"
#include "kernels/cpu/tiles.h"

namespace penstock {
namespace {

struct Part {
  int64_t first, size;
};

// Calls f(part) for each part of an extent, in ascending order.
template <class F>
void for_tiles(int64_t extent, const F& f) {
  const int64_t size = tiled_part(extent);
  for (int64_t first = 0; first < extent; first += size) {
    f(Part{first, std::min(size, extent - first)});
  }
}

// Returns scratch memory for that many elements, or an empty tensor if `elements` is 0.
Tensor optional_scratch(OneDnn::State& state, int64_t elements, DType type) {
  return elements > 0 ? state.scratch(elements, type) : Tensor();
}

bool by_columns(const MatrixStrides& strides) {
  return strides[1] == 1 && strides[2] != 1;
}

template <class Element>
Element* at(const void* matrix, int64_t element) {
  return static_cast<Element*>(const_cast<void*>(matrix)) + element;
}

// Returns the address of a row-major matrix that holds rows `m` and columns `k` of the matrix a. If
// `copy` is not empty, this part of a is copied to it. Otherwise a is row-major itself, and the
// address lies in a.
const void* rows_of(OneDnn::State& state, const MatmulPlan& plan, const Tensor& copy, const void* a,
                    const Part& m, const Part& k) {
  const bfloat16* from = at<const bfloat16>(a, m.first * plan.a[1] + k.first * plan.a[2]);
  if (!copy) return from;
  if (by_columns(plan.a)) {
    copy_transposed(state.threads, copy.data<bfloat16>(), from, k.size, m.size, plan.a[2]);
  } else {
    copy_rows(state.threads, copy.data<bfloat16>(), from, m.size, k.size, plan.a[1]);
  }
  return copy.raw();
}

void tiles_of(OneDnn::State& state, const MatmulPlan& plan, const Tensor& tiles, const void* b,
              const Part& k) {
  const int64_t first = k.first * plan.n;
  if (plan.b_type == DType::F32) {
    copy_to_tiles(state.threads, tiles.data<bfloat16>(), at<const float>(b, first), k.size, plan.n);
  } else {
    copy_to_tiles(state.threads, tiles.data<bfloat16>(), at<const bfloat16>(b, first), k.size,
                  plan.n);
  }
}

// Returns the plan of the product of part `m` of the rows and part `k` of the terms. This product
// reads b from tiles, and adds to the result of the parts of the terms before `k`.
MatmulPlan part_of(const MatmulPlan& plan, const Part& m, const Part& k) {
  MatmulPlan part = plan;
  part.m = m.size;
  part.k = k.size;
  part.a = {0, k.size, 1};
  part.b_type = DType::BF16;
  part.tiles = Tiles::Given;
  part.accumulate = plan.accumulate || k.first > 0;
  return part;
}

}  // namespace

void OneDnn::tiled_matmul(const MatmulPlan& plan, void* c, const void* a, const void* b) {
  const TiledScratch scratch =
      tiled_scratch(plan.m, plan.n, plan.k, !by_columns(plan.a), plan.c_type == DType::BF16);
  if (scratch.sum > 0) {
    const Tensor sum = state_->scratch(scratch.sum, DType::F32);
    MatmulPlan wide = plan;
    wide.c_type = DType::F32;
    for_tiles(plan.m, [&](const Part& m) {
      wide.m = m.size;
      tiled_matmul(wide, sum.raw(), at<bfloat16>(a, m.first * plan.a[1]), b);
      narrow(at<bfloat16>(c, m.first * plan.n), sum.data<float>(), m.size * plan.n,
             state_->threads);
    });
    return;
  }
  const Tensor rows = optional_scratch(*state_, scratch.a, DType::BF16);
  const Tensor tiles = state_->scratch(scratch.b, DType::BF16);
  const auto c_bytes = static_cast<int64_t>(size_of(plan.c_type));
  for_tiles(plan.k, [&](const Part& k) {
    tiles_of(*state_, plan, tiles, b, k);
    for_tiles(plan.m, [&](const Part& m) {
      const void* a_part = rows_of(*state_, plan, rows, a, m, k);
      matmul(part_of(plan, m, k), at<std::byte>(c, m.first * plan.n * c_bytes), a_part,
             tiles.raw());
    });
  });
}

}  // namespace penstock
