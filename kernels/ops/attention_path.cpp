#include "kernels/ops/attention_path.h"

namespace penstock {
namespace {

std::string counted(int64_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace

std::string text_of(const AttentionPath& path) {
  if (!path.fused) return "our own kernels" + (path.why.empty() ? "" : ": " + path.why);
  constexpr int64_t kMiB = int64_t{1} << 20;
  return "fused by cuDNN, backward in " + counted(path.pieces, "piece") + " of " +
         counted(path.samples, "sample") + " x " + counted(path.heads, "head") + ", " +
         std::to_string((path.workspace_bytes + kMiB - 1) / kMiB) + " MiB of workspace";
}

}  // namespace penstock
