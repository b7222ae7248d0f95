// runtime/network/optimizer/matrices/muon.h -- Muon (Jordan et al. 2024): matrices move by their
// momentum, made nearly orthogonal; all else moves by AdamW.
#pragma once

#include <memory>

#include "runtime/network/optimizer/optimizer.h"

namespace penstock {

// With g' = scale g, m = momentum m + (1 - momentum) g' and, looking ahead as Nesterov,
// n = momentum m + (1 - momentum) g', a matrix [rows, columns] moves by
//   w -= lr (0.2 sqrt(max(rows, columns)) orthogonal(n) + weight_decay w),
// where orthogonal() is NewtonSchulz (newton_schulz.h). The factor is Moonshot's (Liu et al. 2025,
// "Muon is Scalable for LLM Training"): an update has about the size of one of AdamW's, so that
// both have use for one learning rate. torch.optim.Muon(adjust_lr_fn="match_rms_adamw") computes
// the same, its products in bf16. Which parameters are matrices: is_updated_whole().
[[nodiscard]] std::unique_ptr<Optimizer> make_muon(const OptimizerConfig& config);

}  // namespace penstock
