#include "runtime/data/tokenizer/models/merges.h"

#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace penstock {
namespace {

uint64_t pair_key(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}

// Looking at all pairs before each merge is quicker than a queue of pairs for words of up to this
// many symbols. Nearly all words of a language are that short.
constexpr size_t kShortWord = 24;

}  // namespace

void Merges::add(int32_t left, int32_t right, int32_t merged) {
  rules_[pair_key(left, right)] = {added_++, merged};
}

const Merges::Rule* Merges::find(int32_t left, int32_t right) const {
  const auto found = rules_.find(pair_key(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

void Merges::may_join(int32_t left, int32_t right) {
  joins_.insert(pair_key(left, right));
}

void Merges::apply(std::vector<int32_t>& symbols) const {
  if (symbols.size() <= kShortWord || joins_.empty()) return apply_to_stretch(symbols);
  std::vector<int32_t> merged, stretch;
  merged.reserve(symbols.size());
  for (size_t i = 0; i < symbols.size(); ++i) {
    stretch.push_back(symbols[i]);
    if (i + 1 < symbols.size() && joins_.contains(pair_key(symbols[i], symbols[i + 1]))) continue;
    apply_to_stretch(stretch);
    merged.insert(merged.end(), stretch.begin(), stretch.end());
    stretch.clear();
  }
  symbols = std::move(merged);
}

void Merges::apply_to_stretch(std::vector<int32_t>& symbols) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortWord) {
    apply_short(symbols);
  } else {
    apply_long(symbols);
  }
}

void Merges::apply_short(std::vector<int32_t>& symbols) const {
  constexpr Rule kNone{std::numeric_limits<int32_t>::max(), 0};
  const auto rule_at = [&](size_t i) {
    const Rule* rule = i + 1 < symbols.size() ? find(symbols[i], symbols[i + 1]) : nullptr;
    return rule == nullptr ? kNone : *rule;
  };
  std::vector<Rule> rules(symbols.size());  // rules[i]: for symbols i and i + 1
  for (size_t i = 0; i < symbols.size(); ++i) rules[i] = rule_at(i);
  for (;;) {
    size_t best = 0;
    for (size_t i = 1; i < rules.size(); ++i) {
      if (rules[i].rank < rules[best].rank) best = i;
    }
    if (rules[best].rank == kNone.rank) return;
    symbols[best] = rules[best].merged;
    const auto next = static_cast<std::ptrdiff_t>(best) + 1;
    symbols.erase(symbols.begin() + next);
    rules.erase(rules.begin() + next);
    rules[best] = rule_at(best);
    if (best > 0) rules[best - 1] = rule_at(best - 1);
  }
}

// Keeps the symbols as a linked list, and the places where a rule can apply in a queue. Symbols can
// change after a place was put into the queue. Such a place is skipped: no rule makes the symbol
// that its entry says from the present symbols.
void Merges::apply_long(std::vector<int32_t>& symbols) const {
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  constexpr int32_t kGone = -1;
  const size_t n = symbols.size();
  std::vector<size_t> before(n), after(n);
  for (size_t i = 0; i < n; ++i) {
    before[i] = i == 0 ? kNone : i - 1;
    after[i] = i + 1 == n ? kNone : i + 1;
  }
  using Place = std::tuple<int32_t, size_t, int32_t>;  // rank, index of the left symbol, merged
  std::priority_queue<Place, std::vector<Place>, std::greater<>> places;
  const auto push = [&](size_t left) {
    if (left == kNone || after[left] == kNone) return;
    const Rule* rule = find(symbols[left], symbols[after[left]]);
    if (rule != nullptr) places.emplace(rule->rank, left, rule->merged);
  };
  for (size_t i = 0; i + 1 < n; ++i) push(i);
  while (!places.empty()) {
    const auto [rank, left, merged] = places.top();
    places.pop();
    if (symbols[left] == kGone || after[left] == kNone) continue;
    const size_t right = after[left];
    const Rule* rule = find(symbols[left], symbols[right]);
    if (rule == nullptr || rule->merged != merged) continue;
    symbols[left] = merged;
    symbols[right] = kGone;
    after[left] = after[right];
    if (after[right] != kNone) before[after[right]] = left;
    push(before[left]);
    push(left);
  }
  std::erase(symbols, kGone);
}

}  // namespace penstock
