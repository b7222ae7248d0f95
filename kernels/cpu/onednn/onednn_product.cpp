#include "kernels/cpu/onednn/onednn_product.h"

#include <omp.h>

#include <algorithm>

#include "kernels/cpu/onednn/onednn_state.h"
#include "kernels/parallel.h"

namespace penstock {
namespace {

// Describes `batch` matrices to the library. With a batch of 1 the axis of the batch is left out,
// because the library has faster code for fewer axes.
dnnl_api::Desc descriptor(int64_t batch, int64_t rows, int64_t columns,
                          const MatrixStrides& strides, DType type) {
  const std::array<int64_t, 3> extents{batch, rows, columns};
  const int unused = batch == 1 ? 1 : 0;
  return {dnnl::memory::dims(extents.begin() + unused, extents.end()), library_type(type),
          dnnl::memory::dims(strides.begin() + unused, strides.end())};
}

dnnl::primitive_attr attributes(const MatmulPlan& plan) {
  dnnl::post_ops ops;
  if (plan.scale != 1.0F) {
    dnnl_api::append_eltwise(ops, dnnl::algorithm::eltwise_linear, plan.scale);
  }
  if (plan.accumulate) ops.append_sum(1.0F);
  if (plan.fused == Fused::Relu) {
    dnnl_api::append_eltwise(ops, dnnl::algorithm::eltwise_relu, 0.0F);
  }
  dnnl::primitive_attr attr = new_attributes();
  attr.set_post_ops(ops);
  return attr;
}

Prepared prepare(OneDnn::State& state, const MatmulPlan& plan) {
  const dnnl_api::Desc a = descriptor(plan.batch, plan.m, plan.k, plan.a, plan.a_type);
  const dnnl_api::Desc b = plan.b_in_tiles
                               ? dnnl_api::Desc({plan.k, plan.n}, library_type(plan.b_type),
                                                dnnl::memory::format_tag::BA16a64b2a)
                               : descriptor(plan.batch, plan.k, plan.n, plan.b, plan.b_type);
  const dnnl_api::Desc c = descriptor(plan.batch, plan.m, plan.n, plan.c, plan.c_type);
  dnnl_api::Desc bias;
  if (plan.bias) {
    const dnnl::memory::dims one(plan.batch == 1 ? 1 : 2, 1);
    dnnl::memory::dims extents = one;
    extents.push_back(plan.n);
    dnnl::memory::dims strides(one.size(), plan.n);
    strides.push_back(1);
    bias = {extents, library_type(DType::F32), strides};
  }
  try {
    const auto desc =
        dnnl_api::describe<dnnl::matmul>(state.engine, attributes(plan), a, b, bias, c);
    std::vector<Argument> arguments = {{DNNL_ARG_DST, c}, {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}};
    if (plan.bias) arguments.push_back({DNNL_ARG_BIAS, bias});
    return {state, std::type_identity<dnnl::matmul>{}, desc, arguments};
  } catch (const dnnl::error& error) {
    fail_library(text(plan), error);
  }
}

struct Matrices {
  int64_t batch, rows, columns;
  const MatrixStrides& strides;

  [[nodiscard]] bool are_dense() const {
    return (strides[1] == columns && strides[2] == 1) || (strides[1] == 1 && strides[2] == rows);
  }
  [[nodiscard]] bool follow_each_other() const {
    return batch == 1 || strides[0] == rows * columns;
  }
};

// Returns whether all matrices of the plan are dense, but in some operand the matrices of the batch
// do not follow each other in memory.
bool is_several(const MatmulPlan& plan) {
  const std::array<Matrices, 3> all = {Matrices{plan.batch, plan.m, plan.k, plan.a},
                                       Matrices{plan.batch, plan.k, plan.n, plan.b},
                                       Matrices{plan.batch, plan.m, plan.n, plan.c}};
  return std::ranges::all_of(all, &Matrices::are_dense) &&
         !std::ranges::all_of(all, &Matrices::follow_each_other);
}

const std::byte* at(const void* matrices, int64_t step_bytes, int64_t i) {
  return static_cast<const std::byte*>(matrices) + i * step_bytes;
}

}  // namespace

std::string text(const MatmulPlan& p) {
  return "a product [" + std::to_string(p.m) + ", " + std::to_string(p.k) + "] x [" +
         std::to_string(p.k) + ", " + std::to_string(p.n) + "], batch " + std::to_string(p.batch) +
         ", " + name_of(p.a_type) + " x " + name_of(p.b_type) + " -> " + name_of(p.c_type);
}

std::vector<Prepared> prepare_for_threads(OneDnn::State& state, const MatmulPlan& plan,
                                          int64_t count) {
  std::vector<Prepared> all;
  omp_set_num_threads(1);
  for (int64_t i = 0; i < count; ++i) all.push_back(prepare(state, plan));
  state.use_threads();
  return all;
}

PreparedProduct::PreparedProduct(OneDnn::State& state, const MatmulPlan& plan)
    : products_(is_several(plan) ? plan.batch : 1), bias_(plan.bias), steps_{} {
  if (plan.scale != 1.0F && plan.bias) fail_internal(text(plan) + " has both a scale and a bias");
  if (products_ == 1) {
    workers_.push_back(prepare(state, plan));
    return;
  }
  const auto bytes = [](int64_t elements, DType type) {
    return elements * static_cast<int64_t>(size_of(type));
  };
  steps_ = {bytes(plan.a[0], plan.a_type), bytes(plan.b[0], plan.b_type),
            bytes(plan.c[0], plan.c_type)};
  MatmulPlan one = plan;
  one.batch = 1;
  workers_ = prepare_for_threads(state, one, std::min<int64_t>(state.threads, products_));
}

void PreparedProduct::run(OneDnn::State& state, void* c, const void* a, const void* b,
                          const float* bias) {
  state.use_threads();
  const auto workers = static_cast<int>(workers_.size());
  constexpr int64_t kLine = 64;
  const int64_t scratch_bytes = (workers_.front().scratch_bytes() + kLine - 1) / kLine * kLine;
  Tensor scratch;
  if (scratch_bytes > 0) scratch = state.scratch(scratch_bytes * workers, DType::U8);
  const auto run_share = [&](int worker) {
    Prepared& product = workers_[static_cast<size_t>(worker)];
    const void* own = scratch_bytes > 0 ? at(scratch.raw(), scratch_bytes, worker) : nullptr;
    const int64_t end = products_ * (worker + 1) / workers;
    for (int64_t i = products_ * worker / workers; i < end; ++i) {
      const std::array<const void*, 4> buffers = {at(c, steps_.c, i), at(a, steps_.a, i),
                                                  at(b, steps_.b, i), bias};
      const auto given = std::span(buffers).first(bias_ ? 4 : 3);
      check(product.execute(state, given, own), "the execution of a product");
    }
  };
  // A single share does not run in a parallel region of ours. If it did, the library's own region
  // would be nested in ours, and libgomp starts and ends new threads for each nested region.
  if (workers == 1) return run_share(0);
  for_shares(state.threads, workers, run_share);
}

}  // namespace penstock
