#include "runtime/engine/training/audit/state_audit.h"

#include <algorithm>

namespace penstock {
namespace {

// Returns both halves of every checksum, 32 bits each, as doubles: collectives carry doubles, which
// hold 32 bits exactly.
std::vector<double> halves_of(const std::vector<uint64_t>& sums) {
  std::vector<double> halves;
  for (const uint64_t sum : sums) {
    halves.push_back(static_cast<double>(sum >> 32));
    halves.push_back(static_cast<double>(sum & 0xffffffffU));
  }
  return halves;
}

}  // namespace

StateAudit::StateAudit(StateRange range, Collective& replicas, Device& device)
    : replicas_(replicas), sums_(device) {
  for (const StateEntry* entry : range) {
    const bool everywhere = !entry->is_shared();
    const std::string of = " of '" + entry->name + "'";
    kept_.push_back({"the value" + of, entry->value, true});
    for (const StateSlot& slot : entry->states) {
      kept_.push_back({"the state " + slot.name + of, slot.tensor, everywhere});
    }
    if (entry->average) kept_.push_back({"the average" + of, entry->average, everywhere});
  }
}

void StateAudit::record() {
  sums_.clear();
  for (const Kept& kept : kept_) sums_.add(kept.tensor);
  at_begin_ = sums_.read();
}

std::string StateAudit::finding() {
  sums_.clear();
  for (const Kept& kept : kept_) sums_.add(kept.tensor);
  const std::vector<uint64_t> now = sums_.read();
  const auto [then, changed] = std::ranges::mismatch(at_begin_, now);
  const bool changed_here = changed != now.end();
  std::string odd = odd_one(now, changed_here);  // collective: every rank calls it
  if (!changed_here) return odd;
  return kept_[static_cast<size_t>(changed - now.begin())].name +
         " has changed in memory while nothing wrote to it";
}

std::string StateAudit::odd_one(const std::vector<uint64_t>& sums, bool changed_here) {
  const auto members = static_cast<size_t>(replicas_.size());
  if (members == 1) return {};
  std::vector<uint64_t> common;
  std::vector<const Kept*> which;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].everywhere) continue;
    common.push_back(sums[i]);
    which.push_back(&kept_[i]);
  }
  std::vector<double> mine = halves_of(common);
  mine.push_back(changed_here ? 1.0 : 0.0);
  std::vector<double> all(mine.size() * members);
  replicas_.gather_to_all(mine, all);
  for (size_t m = 0; m < members; ++m) {
    if (all[(m + 1) * mine.size() - 1] != 0.0) return {};
  }
  for (size_t i = 0; i < common.size(); ++i) {
    size_t alike = 0;
    for (size_t m = 0; m < members; ++m) {
      const double* theirs = all.data() + m * mine.size() + 2 * i;
      if (theirs[0] == mine[2 * i] && theirs[1] == mine[2 * i + 1]) ++alike;
    }
    if (alike == members || 2 * alike > members) continue;
    return which[i]->name + " has other bits than in " +
           (members == 2 ? "the other replica" : "most other replicas");
  }
  return {};
}

}  // namespace penstock
