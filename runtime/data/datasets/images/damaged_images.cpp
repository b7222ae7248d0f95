#include "runtime/data/datasets/images/damaged_images.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "kernels/error.h"

namespace penstock {
namespace {

// Returns how many of `count` are at most the share `limit`. A share such as 0.29 is not exact in
// binary, and 29 of 100 are not more than it.
size_t part_of(size_t count, double limit) {
  constexpr double kRounding = 1e-9;
  return static_cast<size_t>(std::floor(static_cast<double>(count) * limit + kRounding));
}

}  // namespace

DamagedImages::DamagedImages(const ImageFolder& folder, double limit, Warn warn)
    : folder_(folder),
      limit_(limit),
      most_(part_of(folder.files.size(), limit)),
      warn_(std::move(warn)) {}

bool DamagedImages::contains(size_t index) const {
  const std::lock_guard lock(mutex_);
  return indices_.contains(index);
}

void DamagedImages::add(size_t index, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!indices_.insert(index).second) return;
  if (indices_.size() > most_) {
    std::array<char, 32> limit{};
    std::snprintf(limit.data(), limit.size(), "%g", limit_);
    fail_data(why + "; so " + std::to_string(indices_.size()) + " of the " +
              std::to_string(folder_.files.size()) + " images of " + folder_.path +
              " cannot be read, and data.damage_limit = " + limit.data() + " allows " +
              std::to_string(most_));
  }
  if (warn_) warn_(why + "; until then another image of its class stands in for it");
}

}  // namespace penstock
