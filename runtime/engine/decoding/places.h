// runtime/engine/decoding/places.h -- Places: says which rows of the network's batch a growing text
// occupies while it is generated.
//
// Every forward pass of decoding (a round, rounds.h) takes one batch with a fixed number of rows. A
// text occupies `width` neighbouring rows (beam search: one for each beam) from its first word to
// its last, and then gives them to the next text. Row numbers count replica 0's rows first, then
// replica 1's: with 2 replicas of 4 rows and a width of 2 the texts start at rows 0, 2, 4 and 6.
//
// A text never moves to another replica, since the keys and values cached for its rows are there,
// and a replica that computed them anew would round them differently. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

class Places {
 public:
  // `per_replica`: the rows of a round on each replica; `width`: the rows of a text. Throws
  // Error(Internal) when not even one text fits on a replica.
  Places(int64_t per_replica, int64_t replicas, int64_t width);

  // How many texts fit at once, over all replicas.
  [[nodiscard]] int64_t texts() const { return texts_; }
  [[nodiscard]] bool any_free() const { return !free_.empty(); }
  // Takes the lowest free place and returns the number of its first row (Row::place); the other
  // rows of the text are the width - 1 behind it. Throws Error(Internal) unless any_free().
  [[nodiscard]] int64_t take();
  void give_back(int64_t place);  // frees what take() returned, for a text that has ended

 private:
  int64_t texts_;
  std::vector<int64_t> free_;  // first rows of the free places, descending
};

}  // namespace penstock
