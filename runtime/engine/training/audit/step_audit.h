// runtime/engine/training/audit/step_audit.h -- StepAudit: the audit of whole training steps for
// silent hardware errors (run.audit). In each audited step this rank does parts of its work twice
// and compares the bits, and all ranks learn what any of them has found.
//
// Three things are checked:
//   1. what one micro-batch did in one stage (runtime/engine/pipeline/audit/audit.h)
//   2. what is kept from step to step: has memory changed by itself? (state_audit.h)
//   3. a part of the optimizer's update (runtime/network/optimizer/update_audit.h)
// The first two are known before the update and travel with the votes of the step (step_vote.h), so
// that a step with a finding changes nothing on any rank. Step calls begin(), look() and
// audit_update(), in this order; Run decides what follows and asks for the texts. docs/audits.md
// describes audits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/engine/training/audit/state_audit.h"
#include "runtime/network/optimizer/update_audit.h"
#include "runtime/system/comm/station.h"

namespace penstock {

// What an audit has found, in ascending severity. After Disputed and Computed the step has changed
// nothing, and may be taken again.
enum class Doubt : uint8_t {
  None,       // nothing
  Corrected,  // an update was wrong; two of three executions agreed, and theirs was kept
  Disputed,   // two replicas' ranks computed different bits for the same micro-batch
  Computed,   // one rank computed different bits when it repeated a micro-batch
  Kept,       // kept weights or states have changed, or three executions of an update all differ
};

class StepAudit {
 public:
  // `seed`: run.seed. The other arguments must outlive this. `station`: which rank this is, with
  // its network, its place in stages x replicas and its device.
  StepAudit(uint64_t seed, Pipeline& pipeline, const Station& station);

  // Called before the pass of an audited step: takes checksums of what is kept.
  void begin(int64_t step);
  // Called after the pass and before the update: what this rank has found so far. Collective over
  // the replicas.
  [[nodiscard]] Doubt look();
  // Makes the whole update of this rank, by calling `update`, and executes a part of it again; the
  // numbers are those that `update` uses. Collective over all ranks; returns the worst that any
  // rank has found in the update.
  Doubt audit_update(Optimizer& optimizer, double learning_rate, double gradient_scale,
                     const std::function<void()>& update);
  // Text for the user: what the ranks whose finding is `worst` have found, "rank 1 (host n2): B1.2,
  // executed twice, ...; rank 3 ...", the same on every rank. Lesser findings follow from it and
  // are left out. Collective over all ranks.
  [[nodiscard]] std::string account(Doubt worst) const;
  // The hosts of the ranks whose finding is `worst`, one a line. Collective over all ranks.
  [[nodiscard]] std::string hosts(Doubt worst) const;
  // Called when the step was taken again: says which of the two differing executions had been
  // wrong, by comparison with the new one. Empty where no rank had Doubt::Computed. Collective over
  // all ranks.
  [[nodiscard]] std::string verdict() const;

  // The last audited step in which nothing was found; 0: none.
  [[nodiscard]] int64_t last_passed() const { return last_passed_; }
  // Notes that nothing was found in the present step.
  void passed() { last_passed_ = step_; }

 private:
  // All ranks' texts, one a line, without empty ones; the same on every rank.
  [[nodiscard]] std::string on_all(const std::string& here) const;

  uint64_t seed_;
  Pipeline& pipeline_;
  Station station_;
  StateAudit state_;
  UpdateAudit update_;
  int64_t step_ = 0;
  int64_t last_passed_ = 0;
  Doubt here_ = Doubt::None;              // what this rank has found in this step
  std::string found_;                     // the same as text
  std::vector<uint64_t> first_, second_;  // all checksums of the two executions that differed
  std::string instruction_;               // the instruction that first differed in them
};

}  // namespace penstock
