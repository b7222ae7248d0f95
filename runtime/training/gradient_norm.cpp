#include "runtime/training/gradient_norm.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "runtime/optimizer/clip.h"

namespace penstock {

GradientNorm::GradientNorm(const Pipeline& pipeline, Collective& pipeline_ranks, Device& device)
    : ranks_(pipeline_ranks), device_(device) {
  std::vector<int64_t> places;  // among the tensors of the whole network
  for (const StateEntry* entry : pipeline.state()) {
    if (!entry->owned || !entry->gradient) continue;
    gradients_.push_back(entry->gradient);
    places.push_back(static_cast<int64_t>(entry->place));
  }
  here_.resize(places.size());
  squares_ = device.empty({std::ssize(here_)}, DType::F64, Purpose::Workspace);
  agree(places);
}

void GradientNorm::agree(const std::vector<int64_t>& places) {
  const std::string mine(reinterpret_cast<const char*>(places.data()),
                         places.size() * sizeof(int64_t));
  std::vector<int64_t> all;  // as gathered_
  for (const std::string& bytes : ranks_.gather_text(mine)) {
    const size_t count = bytes.size() / sizeof(int64_t);
    counts_.push_back(static_cast<int>(count));
    const size_t before = all.size();
    all.resize(before + count);
    std::memcpy(all.data() + before, bytes.data(), bytes.size());
  }
  gathered_.resize(all.size());
  in_order_.resize(all.size());
  sources_.resize(all.size());
  std::iota(sources_.begin(), sources_.end(), size_t{0});
  std::sort(sources_.begin(), sources_.end(), [&](size_t a, size_t b) { return all[a] < all[b]; });
}

double GradientNorm::compute() {
  device_.update().sum_of_squares(squares_, {gradients_.data(), gradients_.size()});
  device_.copy_to_host(here_.data(), squares_, here_.size() * sizeof(double));
  ranks_.gather(here_, counts_, gathered_);
  for (size_t i = 0; i < sources_.size(); ++i) in_order_[i] = gathered_[sources_[i]];
  double norm = gradient_norm(in_order_);
  ranks_.broadcast({&norm, 1}, 0);
  return norm;
}

}  // namespace penstock
