#include "runtime/data/datasets/dataset.h"

#include "kernels/error.h"

namespace penstock {

const Tensor& Batch::field(const std::string& name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return tensors[i];
  }
  fail_internal("a layer reads the batch field '" + name + "', which its stage does not load");
}

}  // namespace penstock
