// kernels/cuda/dense/row_copy.h -- copies rows of one length to rows of another.
#pragma once

#include "kernels/cuda/families.h"

namespace penstock {

// Overwrites to[rows, to_columns] with from[rows, from_columns], both dense. Columns that only `to`
// has become 0; columns that only `from` has are left out. `to` must start at a multiple of 16
// bytes.
void copy_rows(CudaContext& context, bfloat16* to, int64_t to_columns, const bfloat16* from,
               int64_t from_columns, int64_t rows);

}  // namespace penstock
