#include "runtime/engine/decoding/places.h"

#include <algorithm>
#include <functional>

#include "kernels/error.h"

namespace penstock {

Places::Places(int64_t per_replica, int64_t replicas, int64_t width)
    : texts_(width > 0 ? replicas * (per_replica / width) : 0) {
  if (texts_ < 1) fail_internal("a text has more rows than a replica has places");
  for (int64_t replica = replicas; replica-- > 0;) {
    for (int64_t text = per_replica / width; text-- > 0;) {
      free_.push_back(replica * per_replica + text * width);
    }
  }
}

int64_t Places::take() {
  if (free_.empty()) fail_internal("a text has no place in the round");
  const int64_t place = free_.back();
  free_.pop_back();
  return place;
}

void Places::give_back(int64_t place) {
  free_.insert(std::upper_bound(free_.begin(), free_.end(), place, std::greater<>()), place);
}

}  // namespace penstock
