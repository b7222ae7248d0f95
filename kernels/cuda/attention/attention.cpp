// kernels/cuda/attention/attention.cpp -- softmax, rotary positions, and multi-head attention:
// cuDNN's where it takes the call, our own blocked kernels (attention_call.h) everywhere else.
#include <algorithm>
#include <cmath>

#include "kernels/checks.h"
#include "kernels/cuda/attention/attention_sinks_gpu.h"
#include "kernels/cuda/attention/cudnn_attention.h"
#include "kernels/cuda/attention/rotary.h"
#include "kernels/cuda/families/softmax.h"

namespace penstock {
namespace {

// Refuses heads that are wider than our own kernels take.
void require_narrow_heads(const AttentionCall& call, const std::string& why_ours) {
  if (call.depth <= kDeepest) return;
  fail_input("attention heads are " + std::to_string(call.depth) +
             " wide; on a CUDA device they are at most " + std::to_string(kDeepest) +
             " where cuDNN does not compute them (here: " + why_ours +
             "): use more heads, or --device cpu");
}

// Returns whether every row of a head starts at a multiple of 16 bytes.
bool rows_are_aligned(int64_t depth, std::initializer_list<const Tensor*> tensors) {
  const Tensor& any = **tensors.begin();
  return depth * static_cast<int64_t>(size_of(any.dtype())) % 16 == 0 &&
         std::all_of(tensors.begin(), tensors.end(), [](const Tensor* tensor) {
           return reinterpret_cast<uintptr_t>(tensor->raw()) % 16 == 0;
         });
}

AttentionCall call_of(const AttentionSizes& sizes, const AttentionMask& mask,
                      const AttentionOptions& options) {
  const auto numbers = [](const Tensor* tensor) {
    return tensor == nullptr ? nullptr : tensor->data<int32_t>();
  };
  return {.batch = static_cast<int32_t>(sizes.batch),
          .queries = static_cast<int32_t>(sizes.queries),
          .keys = static_cast<int32_t>(sizes.keys),
          .heads = static_cast<int32_t>(sizes.heads),
          .kv_heads = static_cast<int32_t>(sizes.kv_heads),
          .depth = static_cast<int32_t>(sizes.depth),
          .causal = options.causal ? 1 : 0,
          .window = static_cast<int32_t>(std::min<int64_t>(options.window, sizes.keys)),
          .wide = 0,
          .scale = 1.0F / std::sqrt(static_cast<float>(sizes.depth)),
          .rate = options.dropout,
          .keep = 1.0F / (1.0F - options.dropout),
          .softcap = options.softcap,
          .softcap_inverse = options.softcap > 0.0F ? 1.0F / options.softcap : 0.0F,
          .stream = options.stream,
          .lengths = numbers(mask.key_lengths),
          .starts = numbers(mask.starts)};
}

class CudaAttention final : public AttentionOps {
 public:
  explicit CudaAttention(CudaContext& context)
      : context_(context), library_(context, attention_graphs()) {}

  // The qualified names call the functions of softmax.h; unqualified names would call these
  // members.
  void softmax_forward(Tensor& y, const Tensor& x) override {
    require_alike("softmax_forward", y, x);
    penstock::softmax_forward(context_, y, x);
  }
  void softmax_backward(Tensor& dx, const Tensor& g, const Tensor& y) override {
    require_alike("softmax_backward", dx, y);
    require_alike("softmax_backward", g, y);
    penstock::softmax_backward(context_, dx, g, y);
  }

  void rotary(Tensor& y, const Tensor& x, const Tensor& table, const Tensor* places,
              RotaryPairs pairs, bool back) override {
    const RotarySizes sizes = rotary_sizes("rotary", y, x, table, places);
    penstock::rotary(context_, y, x, table, places, sizes, pairs, back);
  }

  void attention_forward(Tensor& out, Tensor& logsumexp, const Tensor& q, const Tensor& k,
                         const Tensor& v, const AttentionMask& mask,
                         const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_forward";
    const AttentionSizes sizes = attention_sizes(kOp, q, k, v, mask, options);
    require_alike(kOp, out, q);
    require_elements(kOp, logsumexp, q.dim(0) * options.heads * q.dim(1));
    if (out.elements() == 0) return;
    AttentionCall call = call_of(sizes, mask, options);
    call.wide = rows_are_aligned(call.depth, {&q, &k, &v, &out}) ? 1 : 0;
    const AttentionInputs in{q.raw(), k.raw(), v.raw()};
    auto* const sums = logsumexp.data<float>();
    if (!sizes.see_nothing() && library_.takes(call, q.dtype())) {
      library_.forward(call, in, out.raw(), sums);
    } else {
      require_narrow_heads(call, library_.path(call, q.dtype()).why);
      blocked_attention_forward(context_, call, q.dtype(), in, out.raw(), sums);
    }
  }

  void attention_backward(Tensor& dq, Tensor& dk, Tensor& dv, const Tensor& g, const Tensor& q,
                          const Tensor& k, const Tensor& v, const Tensor& out,
                          const Tensor& logsumexp, const AttentionMask& mask,
                          const AttentionOptions& options) override {
    constexpr const char* kOp = "attention_backward";
    const AttentionSizes sizes = attention_sizes(kOp, q, k, v, mask, options);
    for (const Tensor& t : {dq, g, out}) require_alike(kOp, t, q);
    for (const Tensor& t : {dk, dv}) require_alike(kOp, t, k);
    require_elements(kOp, logsumexp, q.dim(0) * options.heads * q.dim(1));
    if (q.elements() + k.elements() == 0) return;
    AttentionCall call = call_of(sizes, mask, options);
    call.wide = rows_are_aligned(call.depth, {&q, &k, &v, &out, &g, &dq, &dk, &dv}) ? 1 : 0;
    const AttentionInputs in{q.raw(), k.raw(), v.raw()};
    const AttentionResults results{g.raw(), out.raw(), logsumexp.data<float>()};
    const AttentionGradients gradients{dq.raw(), dk.raw(), dv.raw()};
    if (!sizes.see_nothing() && library_.takes(call, q.dtype())) {
      library_.backward(call, in, results, gradients);
    } else {
      blocked_attention_backward(context_, call, q.dtype(), in, results, gradients);
    }
  }

  void add_sinks(Tensor& out, Tensor& logsumexp, const Tensor& sinks) override {
    penstock::add_sinks(context_, out, logsumexp, sinks,
                        sink_sizes("add_sinks", out, logsumexp, sinks));
  }
  void sinks_backward(Tensor& dsinks, const Tensor& g, const Tensor& out, const Tensor& logsumexp,
                      const Tensor& sinks) override {
    require_alike("sinks_backward", g, out);
    require_alike("sinks_backward", dsinks, sinks);
    penstock::sinks_backward(context_, dsinks, g, out, logsumexp, sinks,
                             sink_sizes("sinks_backward", out, logsumexp, sinks));
  }

  [[nodiscard]] AttentionPath path(const Tensor& q, const Tensor& k, const AttentionMask& mask,
                                   const AttentionOptions& options) override {
    const AttentionSizes sizes = attention_sizes("attention", q, k, k, mask, options);
    return library_.path(call_of(sizes, mask, options), q.dtype());
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
