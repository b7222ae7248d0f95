// kernels/cuda/attention/no_attention_graphs.cpp -- stands for the library of fused attention in a
// build without the headers of nvidia-cudnn-frontend.
#include "kernels/cuda/attention/attention_graphs.h"

namespace penstock {

bool has_attention_graphs() {
  return false;
}
std::unique_ptr<AttentionGraphs> attention_graphs() {
  return nullptr;
}

}  // namespace penstock
