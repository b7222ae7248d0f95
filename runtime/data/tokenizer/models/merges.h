// runtime/data/tokenizer/models/merges.h -- Merges: the rules of a byte pair encoding, and their
// application to one word (Sennrich et al. 2016).
//
// A word begins as a row of symbols, numbers for its characters or bytes. A rule says that two
// symbols that are neighbours become a third one. Example with the rules l o -> lo, lo w -> low:
// the word l o w e r becomes low e r.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace penstock {

class Merges {
 public:
  // Adds the rule that neighbours `left` and `right` become `merged`. Rules that are added earlier
  // go first; a pair that is added again counts at its later place only.
  void add(int32_t left, int32_t right, int32_t merged);
  // Makes long words fast; optional. Says that `left` and `right`, as neighbours in a word before
  // any merge, may end up within one symbol. If it is called at all, it must be called for all such
  // pairs: apply() then cuts long words between all other neighbours, and merges each stretch by
  // itself.
  void may_join(int32_t left, int32_t right);

  // Merges the symbols of a word in place until no rule applies. Each time the first of the rules
  // that apply is used, at its leftmost place. Thread safe once all rules are added. O(n log n).
  void apply(std::vector<int32_t>& symbols) const;

 private:
  struct Rule {
    int32_t rank = 0, merged = 0;  // the lowest rank goes first
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
  std::unordered_set<uint64_t, PairHash> joins_;  // pairs of may_join(); empty: any may join
  int32_t added_ = 0;                             // rules added so far: the next rank
};

}  // namespace penstock
