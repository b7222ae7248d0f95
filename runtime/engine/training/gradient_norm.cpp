#include "runtime/engine/training/gradient_norm.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

#include "runtime/network/optimizer/clip.h"

namespace penstock {

GradientNorm::GradientNorm(const Pipeline& pipeline, Collective& pipeline_ranks,
                           Collective& replicas, Device& device)
    : ranks_(pipeline_ranks), replicas_(replicas), device_(device) {
  std::vector<const StateEntry*> entries;
  for (const StateEntry* entry : pipeline.state()) {
    if (!entry->owned || !entry->gradient) continue;
    entries.push_back(entry);
    places_.push_back(static_cast<int64_t>(entry->place));
    is_shared_ = is_shared_ || entry->is_shared();
    if (entry->own_elements() > 0) gradients_.push_back(entry->own_part(entry->gradient));
  }
  here_.resize(places_.size());
  list_blocks(entries);
  agree();
}

// Sets block_at_: for each parameter in order, the places of its blocks of squares in the gathered
// list, so that they are added up in the order of parameters. The gathered list has all blocks of
// replica 0 first, then those of replica 1, and so on. If nothing is shared, it has those of one
// replica alone.
void GradientNorm::list_blocks(const std::vector<const StateEntry*>& entries) {
  const auto members = static_cast<size_t>(is_shared_ ? replicas_.size() : 1);
  const auto blocks_of = [&](const StateEntry& entry, size_t r) {
    return squares_blocks(is_shared_ ? entry.cuts[r + 1] - entry.cuts[r] : entry.elements());
  };
  std::vector<size_t> next(members, 0);  // where each replica's next block is
  size_t all = 0;
  for (size_t r = 0; r < members; ++r) {
    next[r] = all;
    for (const StateEntry* entry : entries) all += static_cast<size_t>(blocks_of(*entry, r));
  }
  for (const StateEntry* entry : entries) {
    for (size_t r = 0; r < members; ++r) {
      for (int64_t block = 0; block < blocks_of(*entry, r); ++block) {
        block_at_.push_back(next[r]++);
      }
    }
    block_end_.push_back(block_at_.size());
  }
  int64_t own = 0;
  for (const Tensor& gradient : gradients_) own += squares_blocks(gradient.elements());
  squares_ = device_.empty({own}, DType::F64, Purpose::Workspace);
  own_.resize(static_cast<size_t>(own));
  if (is_shared_) of_all_.resize(all);
}

void GradientNorm::agree() {
  const std::string mine(reinterpret_cast<const char*>(places_.data()),
                         places_.size() * sizeof(int64_t));
  std::vector<int64_t> all;  // places of parameters, in the order of gathered_
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

void GradientNorm::add_blocks() {
  const std::vector<double>& blocks = is_shared_ ? of_all_ : own_;
  size_t next = 0;
  for (size_t parameter = 0; parameter < here_.size(); ++parameter) {
    double sum = 0.0;
    for (; next < block_end_[parameter]; ++next) sum += blocks[block_at_[next]];
    here_[parameter] = sum;
  }
}

std::span<const double> GradientNorm::squares() {
  device_.update().squares_by_block(squares_, {gradients_.data(), gradients_.size()});
  device_.copy_to_host(own_.data(), squares_, own_.size() * sizeof(double));
  if (is_shared_) replicas_.gather_to_all(own_, of_all_);
  add_blocks();
  return here_;
}

double GradientNorm::compute() {
  ranks_.gather(squares(), counts_, gathered_);
  for (size_t i = 0; i < sources_.size(); ++i) in_order_[i] = gathered_[sources_[i]];
  double norm = gradient_norm(in_order_);
  ranks_.broadcast({&norm, 1}, 0);
  return norm;
}

}  // namespace penstock
