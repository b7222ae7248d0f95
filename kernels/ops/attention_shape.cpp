#include "kernels/ops/attention_shape.h"

#include "kernels/checks.h"

namespace penstock {

AttentionSizes attention_sizes(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                               const AttentionMask& mask, const AttentionOptions& options) {
  require_alike(op, k, v);
  const int heads = options.heads;
  const int kv_heads = options.kv_heads > 0 ? options.kv_heads : heads;
  const bool fits = q.shape().rank() == 3 && k.shape().rank() == 3 && q.dim(0) == k.dim(0) &&
                    q.dtype() == k.dtype() && heads > 0 && heads % kv_heads == 0 &&
                    q.dim(2) % heads == 0 && k.dim(2) == q.dim(2) / heads * kv_heads &&
                    (!options.causal || q.dim(1) == k.dim(1)) && options.window >= 0;
  if (!fits) {
    fail_internal(std::string(op) + ": queries " + q.shape().text() + " and keys " +
                  k.shape().text() + " do not fit each other and " + std::to_string(heads) +
                  " heads, " + std::to_string(kv_heads) + " of them of keys");
  }
  if (!(options.dropout >= 0.0F && options.dropout < 1.0F)) {
    fail_input("a dropout rate is " + std::to_string(options.dropout) + "; give one in [0, 1)");
  }
  if (mask.key_lengths != nullptr) require_elements(op, *mask.key_lengths, q.dim(0));
  if (mask.starts != nullptr) {
    require_elements(op, *mask.starts, q.dim(0) * q.dim(1));
    if (!options.causal) fail_internal(std::string(op) + ": packed rows are causal");
  }
  return {q.dim(0), q.dim(1), k.dim(1), heads, kv_heads, q.dim(2) / heads};
}

RotarySizes rotary_sizes(const char* op, const Tensor& y, const Tensor& x, const Tensor& table,
                         const Tensor* places) {
  require_alike(op, y, x);
  const bool fits = x.shape().rank() == 3 && table.shape().rank() == 2 && table.dim(1) > 0 &&
                    table.dim(1) % 2 == 0 && x.dim(2) % table.dim(1) == 0 &&
                    table.dtype() == DType::F32 && (places != nullptr || x.dim(1) <= table.dim(0));
  if (!fits) {
    fail_internal(std::string(op) + ": positions " + x.shape().text() + " and a table " +
                  table.shape().text() + " do not fit each other");
  }
  if (places != nullptr) require_elements(op, *places, x.dim(0) * x.dim(1));
  return {x.dim(1), x.dim(2) / table.dim(1), table.dim(1)};
}

}  // namespace penstock
