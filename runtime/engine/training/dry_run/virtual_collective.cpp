#include "runtime/engine/training/dry_run/virtual_collective.h"

#include <algorithm>
#include <utility>

namespace penstock {

void VirtualCollective::meet() {
  if (size() == 1) return;
  std::vector<double> all(static_cast<size_t>(size()));
  const double mine = clock_.now();
  real_.gather_to_all({&mine, 1}, all);
  clock_.wait_until(*std::ranges::max_element(all));
}

VirtualLateGather::VirtualLateGather(std::unique_ptr<LateGather> real, size_t mine,
                                     Collective& world, VirtualClock& clock)
    : real_(std::move(real)),
      clock_(clock),
      counts_(world.gather_to_all(static_cast<int64_t>(mine))),
      mine_(mine + 1) {}

void VirtualLateGather::start(std::span<const double> mine) {
  std::ranges::copy(mine, mine_.begin());
  mine_.back() = clock_.now();
  real_->start(mine_);
}

std::span<const double> VirtualLateGather::finish() {
  std::span<const double> rest = real_->finish();
  all_.clear();
  for (const int64_t count : counts_) {
    const auto numbers = static_cast<size_t>(count);
    all_.insert(all_.end(), rest.begin(), rest.begin() + count);
    clock_.wait_until(rest[numbers]);
    rest = rest.subspan(numbers + 1);
  }
  return all_;
}

}  // namespace penstock
