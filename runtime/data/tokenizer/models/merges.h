// runtime/data/tokenizer/models/merges.h -- Merges: byte pair encoding of one word (Sennrich et al.
// 2016).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace penstock {

class Merges {
 public:
  // Adds the rule that `left` and `right` become `merged`, behind all rules so far. A pair that is
  // added again has the later place.
  void add(int32_t left, int32_t right, int32_t merged);
  // Names two symbols that, as neighbours in an unmerged word, may end up in one symbol. After the
  // first call all such pairs must be named: apply() then cuts long words (texts that nothing has
  // cut) between symbols that are no such pair, and merges each stretch alone.
  void may_join(int32_t left, int32_t right);

  // Merges the symbols of a word in place until no rule applies: always by the first rule that
  // applies, at its leftmost place. O(n log n).
  void apply(std::vector<int32_t>& symbols) const;

 private:
  struct Rule {
    int32_t rank = 0, merged = 0;
  };
  struct PairHash {
    size_t operator()(uint64_t pair) const {
      const uint64_t mixed = pair * 0x9E3779B97F4A7C15U;
      return mixed ^ mixed >> 29;
    }
  };
  [[nodiscard]] const Rule* find(int32_t left, int32_t right) const;
  void apply_to_stretch(std::vector<int32_t>& symbols) const;
  void apply_short(std::vector<int32_t>& symbols) const;
  void apply_long(std::vector<int32_t>& symbols) const;

  std::unordered_map<uint64_t, Rule, PairHash> rules_;
  std::unordered_set<uint64_t, PairHash> joins_;  // empty: any may
  int32_t added_ = 0;
};

}  // namespace penstock
