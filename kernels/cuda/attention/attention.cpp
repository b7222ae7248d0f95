// kernels/cuda/attention/attention.cpp -- softmax, and multi-head attention: cuDNN's where it takes
// the call, our own blocked kernels (attention_call.h) everywhere else.
#include <algorithm>
#include <cmath>

#include "kernels/checks.h"
#include "kernels/cuda/attention/cudnn_attention.h"
#include "kernels/cuda/families/softmax.h"

namespace penstock {
namespace {

void check(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
           const Tensor* key_lengths, const AttentionOptions& options) {
  require_alike(op, k, v);
  const bool fits = q.shape().rank() == 3 && k.shape().rank() == 3 && q.dim(0) == k.dim(0) &&
                    q.dim(2) == k.dim(2) && q.dtype() == k.dtype() && options.heads > 0 &&
                    q.dim(2) % options.heads == 0 && (!options.causal || q.dim(1) == k.dim(1));
  if (!fits) {
    fail_internal(std::string(op) + ": queries " + q.shape().text() + " and keys " +
                  k.shape().text() + " do not fit each other and " + std::to_string(options.heads) +
                  " heads");
  }
  if (!(options.dropout >= 0.0F && options.dropout < 1.0F)) {
    fail_input("a dropout rate is " + std::to_string(options.dropout) + "; give one in [0, 1)");
  }
  if (q.dim(2) / options.heads > kDeepest) {
    fail_input("attention heads are " + std::to_string(q.dim(2) / options.heads) +
               " wide; on a CUDA device they are at most " + std::to_string(kDeepest) +
               ": use more heads, or --device cpu");
  }
  if (key_lengths != nullptr) require_elements(op, *key_lengths, q.dim(0));
}

// Whether every row of a head starts at a multiple of 16 bytes.
bool rows_are_aligned(int64_t depth, std::initializer_list<const Tensor*> tensors) {
  const Tensor& any = **tensors.begin();
  return depth * static_cast<int64_t>(size_of(any.dtype())) % 16 == 0 &&
         std::all_of(tensors.begin(), tensors.end(), [](const Tensor* tensor) {
           return reinterpret_cast<uintptr_t>(tensor->raw()) % 16 == 0;
         });
}

AttentionCall describe(const Tensor& q, const Tensor& k, const Tensor* key_lengths,
                       const AttentionOptions& options) {
  const auto depth = static_cast<int32_t>(q.dim(2) / options.heads);
  return {.batch = static_cast<int32_t>(q.dim(0)),
          .queries = static_cast<int32_t>(q.dim(1)),
          .keys = static_cast<int32_t>(k.dim(1)),
          .heads = options.heads,
          .depth = depth,
          .causal = options.causal ? 1 : 0,
          .wide = 0,
          .scale = 1.0F / std::sqrt(static_cast<float>(depth)),
          .rate = options.dropout,
          .keep = 1.0F / (1.0F - options.dropout),
          .stream = options.stream,
          .lengths = key_lengths == nullptr ? nullptr : key_lengths->data<int32_t>()};
}

class CudaAttention final : public AttentionOps {
 public:
  explicit CudaAttention(CudaContext& context)
      : context_(context), library_(context, attention_graphs()) {}

  // The qualified names are the functions of softmax.h, not these members.
  void softmax_forward(Tensor& y, const Tensor& x) override {
    require_alike("softmax_forward", y, x);
    penstock::softmax_forward(context_, y, x);
  }
  void softmax_backward(Tensor& dx, const Tensor& g, const Tensor& y) override {
    require_alike("softmax_backward", dx, y);
    require_alike("softmax_backward", g, y);
    penstock::softmax_backward(context_, dx, g, y);
  }

  void attention_forward(Tensor& out, Tensor& logsumexp, const Tensor& q, const Tensor& k,
                         const Tensor& v, const Tensor* key_lengths,
                         const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_forward";
    check(kOp, q, k, v, key_lengths, options);
    require_alike(kOp, out, q);
    require_elements(kOp, logsumexp, q.dim(0) * options.heads * q.dim(1));
    if (out.elements() == 0) return;
    AttentionCall call = describe(q, k, key_lengths, options);
    call.wide = rows_are_aligned(call.depth, {&q, &k, &v, &out}) ? 1 : 0;
    const AttentionInputs in{q.raw(), k.raw(), v.raw()};
    auto* const sums = logsumexp.data<float>();
    if (library_.takes(call, q.dtype())) {
      library_.forward(call, in, out.raw(), sums);
    } else {
      blocked_attention_forward(context_, call, q.dtype(), in, out.raw(), sums);
    }
  }

  void attention_backward(Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& g, const Tensor& q,
                          const Tensor& k, const Tensor& v, const Tensor& out,
                          const Tensor& logsumexp, const Tensor* key_lengths,
                          const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_backward";
    check(kOp, q, k, v, key_lengths, options);
    for (const Tensor& t : {dq, g, out}) require_alike(kOp, t, q);
    for (const Tensor& t : {dk, dv}) require_alike(kOp, t, k);
    require_elements(kOp, logsumexp, q.dim(0) * options.heads * q.dim(1));
    if (q.elements() + k.elements() == 0) return;
    AttentionCall call = describe(q, k, key_lengths, options);
    call.wide = rows_are_aligned(call.depth, {&q, &k, &v, &out, &g, &dq, &dk, &dv}) ? 1 : 0;
    const AttentionInputs in{q.raw(), k.raw(), v.raw()};
    const AttentionResults results{g.raw(), out.raw(), logsumexp.data<float>()};
    const AttentionGradients gradients{dq.raw(), dk.raw(), dv.raw()};
    if (library_.takes(call, q.dtype())) {
      library_.backward(call, in, results, gradients);
    } else {
      blocked_attention_backward(context_, call, q.dtype(), in, results, gradients);
    }
  }

  [[nodiscard]] AttentionPath path(const Tensor& q, const Tensor& k, const Tensor* key_lengths,
                                   const AttentionOptions& options) override {
    check("attention", q, k, k, key_lengths, options);
    return library_.path(describe(q, k, key_lengths, options), q.dtype());
  }

 private:
  CudaContext& context_;
  CudnnAttention library_;
};

}  // namespace

std::unique_ptr<AttentionOps> cuda_attention_ops(CudaContext& context) {
  return std::make_unique<CudaAttention>(context);
}

}  // namespace penstock
