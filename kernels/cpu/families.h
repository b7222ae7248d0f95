// kernels/cpu/families.h -- the CPU op families, one .cpp each, and what they share.
// Private to kernels/cpu and its tests; everyone else calls make_cpu_device().
#pragma once

#include <memory>

#include "kernels/ops.h"

namespace penstock {

class OneDnn;  // kernels/cpu/onednn/onednn.h: the only wrapper of oneDNN

// What the CPU's ops work with besides their tensors. The device owns all of it.
struct CpuContext {
  int threads;     // of every parallel region, oneDNN's included
  Memory& memory;  // for scratch tensors, Purpose::Workspace
  OneDnn& dnn;
};

// An op family on the CPU.
template <class Family>
class OnCpu : public Family {
 public:
  explicit OnCpu(CpuContext& context) : context_(context) {}

 protected:
  CpuContext& context_;
};

// The context must outlive the ops.
[[nodiscard]] std::unique_ptr<DenseOps> cpu_dense_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<ImageOps> cpu_image_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<RowNormOps> cpu_row_norm_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<BatchNormOps> cpu_batch_norm_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<ActivationOps> cpu_activation_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<PointwiseOps> cpu_pointwise_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<LayoutOps> cpu_layout_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<AttentionOps> cpu_attention_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<TokenOps> cpu_token_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<ExpertOps> cpu_expert_ops(CpuContext& context);
[[nodiscard]] std::unique_ptr<UpdateOps> cpu_update_ops(CpuContext& context);

}  // namespace penstock
