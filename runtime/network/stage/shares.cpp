#include "runtime/network/stage/shares.h"

#include <algorithm>
#include <iterator>

namespace penstock {
namespace {

// This is a place where a stretch of parameters can be cut.
struct Candidate {
  int64_t at = 0;      // offset in the stretch
  int64_t before = 0;  // elements of parameters before it, padding left out
};

std::vector<Candidate> candidates_in(std::span<const ParameterPlace> places) {
  std::vector<Candidate> all;
  int64_t before = 0;
  int64_t at = 0;
  for (const ParameterPlace& place : places) {
    const int64_t step = place.whole ? place.elements : kShareGranule;
    for (int64_t first = 0; first < place.elements; first += step) {
      all.push_back({at + first, before + first});
    }
    before += place.elements;
    at += place.room;
  }
  all.push_back({at, before});
  return all;
}

const Candidate& nearest(const std::vector<Candidate>& all, int64_t wanted) {
  const auto above = std::ranges::lower_bound(all, wanted, {}, &Candidate::before);
  if (above == all.end()) return all.back();
  if (above == all.begin()) return *above;
  const auto below = std::prev(above);
  return wanted - below->before <= above->before - wanted ? *below : *above;
}

bool go_on(const ParameterPlace& before, const ParameterPlace& place) {
  return !before.tied && !place.tied && place.gradient == before.gradient + before.room &&
         place.value == before.value + before.room;
}

}  // namespace

ShareCutter::ShareCutter(int replicas)
    : replicas_(replicas), before_(static_cast<size_t>(replicas), 0) {}

std::vector<Stretch> ShareCutter::cut(std::span<const ParameterPlace> bucket) {
  std::vector<Stretch> stretches;
  for (size_t first = 0; first < bucket.size();) {
    size_t last = first + 1;
    while (last < bucket.size() && go_on(bucket[last - 1], bucket[last])) ++last;
    stretches.push_back(cut_stretch(bucket.subspan(first, last - first)));
    first = last;
  }
  return stretches;
}

Stretch ShareCutter::cut_stretch(std::span<const ParameterPlace> places) {
  const std::vector<Candidate> candidates = candidates_in(places);
  const ParameterPlace& first = places.front();
  const auto& [end, elements] = candidates.back();
  Stretch stretch{first.gradient, first.value, end, {0}};
  const bool counts = first.value >= 0;
  for (int64_t r = 1; r < replicas_; ++r) {
    int64_t& before = before_[static_cast<size_t>(r)];
    const int64_t equal =
        first.tied ? elements * r / replicas_ : (all_ + elements) * r / replicas_ - before;
    const Candidate& chosen = nearest(candidates, equal);
    const int64_t at = std::max(chosen.at, stretch.cuts.back());
    // The nearest candidate may lie before the last cut if earlier stretches were out of balance.
    // `at` is then the last cut, and the share is empty.
    const auto found = std::ranges::find(candidates, at, &Candidate::at);
    if (counts) before += found->before;
    stretch.cuts.push_back(at);
  }
  stretch.cuts.push_back(end);
  if (counts) all_ += elements;
  return stretch;
}

}  // namespace penstock
