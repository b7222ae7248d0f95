#include "runtime/data/datasets/images/damaged_images.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "kernels/error.h"

namespace penstock {

DamagedImages::DamagedImages(const ImageFolder& folder, double limit, Warn warn)
    : folder_(folder),
      limit_(limit),
      most_(static_cast<size_t>(std::ceil(static_cast<double>(folder.files.size()) * limit))),
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
    fail_data(why + "; and " + std::to_string(most_) +
              (most_ == 1 ? " other of the " : " others of the ") +
              std::to_string(folder_.files.size()) + " images of " + folder_.path +
              " cannot be read either, which is all that data.damage_limit = " + limit.data() +
              " allows");
  }
  if (warn_) warn_(why + "; until then another image of its class stands in for it");
}

}  // namespace penstock
