// runtime/network/optimizer/matrices/adafactor.h -- Adafactor (Shazeer & Stern 2018), whose state
// of a matrix is one number for each row and column.
#pragma once

#include <memory>

#include "runtime/network/optimizer/optimizer.h"

namespace penstock {

// The rule of torch.optim.Adafactor: with f = t^-0.8 in step t and g' = scale g, the second moments
// of rows (and likewise of columns) are R = (1 - f) R + f mean(g'^2 of the row), a change is
// g' / sqrt(R C / mean(R)), divided by its root mean square where that is above 1, and
//   w -= lr weight_decay w + max(1e-3, root mean square of w) min(lr, 1 / sqrt(t)) change.
// Vectors have the moment of each element. A filter of a convolution is a matrix [out, all the
// rest], where PyTorch takes one for each pair of channels.
[[nodiscard]] std::unique_ptr<Optimizer> make_adafactor(const OptimizerConfig& config);

}  // namespace penstock
