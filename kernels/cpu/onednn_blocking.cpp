// kernels/cpu/onednn_blocking.cpp -- reads the library's layouts as tables of places, one for each
// axis: in a blocked layout the place of an element is a sum over its indices.
#include <algorithm>
#include <numeric>

#include "kernels/cpu/onednn_state.h"

namespace penstock {
namespace {

using Extents = dnnl::memory::dims;

// What index 0, 1, ... of that axis adds to the place of an element.
std::vector<int64_t> places_of(const dnnl_api::Blocking& b, size_t axis) {
  std::vector<int64_t> places(static_cast<size_t>(b.extents[axis]));
  for (size_t i = 0; i < places.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t stride = 1;
    for (size_t block = b.blocks.size(); block-- > 0; stride *= b.blocks[block]) {
      if (b.axes[block] != static_cast<int64_t>(axis)) continue;
      places[i] += rest % b.blocks[block] * stride;
      rest /= b.blocks[block];
    }
    places[i] += rest * b.strides[axis];
  }
  return places;
}

// Two axes as one, `inner` running faster.
std::vector<int64_t> joined(const std::vector<int64_t>& outer, const std::vector<int64_t>& inner) {
  std::vector<int64_t> places;
  places.reserve(outer.size() * inner.size());
  for (const int64_t o : outer) {
    for (const int64_t i : inner) places.push_back(o + i);
  }
  return places;
}

bool is_dense(const dnnl_api::Blocking& value, const std::vector<size_t>& slow_to_fast) {
  int64_t elements = 1;
  for (size_t i = slow_to_fast.size(); i-- > 0;) {
    const size_t axis = slow_to_fast[i];
    if (value.extents[axis] != 1 && value.strides[axis] != elements) return false;
    elements *= value.extents[axis];
  }
  return value.blocks.empty();
}

}  // namespace

std::optional<BlockedCopy> blocked_copy(const dnnl_api::Desc& value, const dnnl_api::Desc& form) {
  const dnnl_api::Blocking from = dnnl_api::blocking(value);
  const dnnl_api::Blocking to = dnnl_api::blocking(form);
  const size_t axes = from.extents.size();
  if (!from.plain_extents || !to.plain_extents || axes < 2) return std::nullopt;
  std::vector<size_t> order(axes);
  std::iota(order.begin(), order.end(), size_t{0});
  // A matrix comes either way round; a filter is ([groups,] out, in, height, width).
  if (axes == 2 && from.strides[0] < from.strides[1]) std::swap(order[0], order[1]);
  if (!is_dense(from, order)) return std::nullopt;

  std::vector<std::vector<int64_t>> places;
  places.reserve(axes);
  for (const size_t axis : order) places.push_back(places_of(to, axis));
  if (axes == 2) return BlockedCopy({places[0], places[1], {0}});
  const size_t in = axes - 3;
  std::vector<int64_t> rows = places[0];
  for (size_t i = 1; i < in; ++i) rows = joined(rows, places[i]);
  return BlockedCopy({std::move(rows), places[in], joined(places[in + 1], places[in + 2])});
}

}  // namespace penstock
