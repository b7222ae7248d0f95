// kernels/ops.h -- includes every op family and the device that runs them.
#pragma once

#include "kernels/device.h"          // IWYU pragma: export
#include "kernels/ops/activation.h"  // IWYU pragma: export
#include "kernels/ops/attention.h"   // IWYU pragma: export
#include "kernels/ops/batch_norm.h"  // IWYU pragma: export
#include "kernels/ops/dense.h"       // IWYU pragma: export
#include "kernels/ops/experts.h"     // IWYU pragma: export
#include "kernels/ops/image.h"       // IWYU pragma: export
#include "kernels/ops/layout.h"      // IWYU pragma: export
#include "kernels/ops/pointwise.h"   // IWYU pragma: export
#include "kernels/ops/row_norm.h"    // IWYU pragma: export
#include "kernels/ops/token.h"       // IWYU pragma: export
#include "kernels/ops/update.h"      // IWYU pragma: export
