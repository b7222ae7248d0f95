// runtime/engine/decoding/places.h -- Places: which rows of the rounds each text has, from its
// first word to its last. Pure.
//
// A text never changes its replica: what the network knows of its rows is there, and to make it
// again elsewhere would round otherwise (runtime/engine/decoding/rounds.h).
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

class Places {
 public:
  // Makes places for texts of `width` neighbouring rows each, in rounds of `per_replica` rows on
  // each replica. Throws Error(Internal) when a text does not fit a replica.
  Places(int64_t per_replica, int64_t replicas, int64_t width);

  [[nodiscard]] int64_t texts() const { return texts_; }  // that fit at once
  [[nodiscard]] bool any_free() const { return !free_.empty(); }
  // Takes the lowest free place for the first row of a text that starts; it becomes Row::place of
  // that row, and those of the text's other rows follow it. Only while any_free().
  [[nodiscard]] int64_t take();
  void give_back(int64_t place);  // of a text that has ended

 private:
  int64_t texts_;
  std::vector<int64_t> free_;  // first places, descending
};

}  // namespace penstock
