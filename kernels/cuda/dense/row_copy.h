// kernels/cuda/dense/row_copy.h -- copies rows of one length to rows of another.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// to[r, c] = from[r, c] for c < both lengths, else 0; r < rows; bf16, dense. `to` starts at a
// multiple of 16 bytes.
void copy_rows(CudaContext& context, bfloat16* to, int64_t to_columns, const bfloat16* from,
               int64_t from_columns, int64_t rows);

}  // namespace penstock
