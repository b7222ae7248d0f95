// runtime/engine/training/audit/step_audit.h -- StepAudit: audits a step of this rank, and tells
// all ranks what any of them has found.
//
// An audit checks three things: what one micro-batch did (runtime/engine/pipeline/audit/audit.h),
// what is kept from step to step (state_audit.h), and a part of the update
// (runtime/network/optimizer/update_audit.h). The first two are known before the update and travel
// with the votes of the step, so a step that any rank doubts changes nothing on any rank.
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

// What an audit has found, from good to bad. After Disputed and Computed the step has changed
// nothing, and may be taken again.
enum class Doubt : uint8_t {
  None,
  Corrected,  // an update went wrong, and was made as two of three executions had it
  Disputed,   // two ranks of different replicas made different bits of one micro-batch
  Computed,   // one rank made different bits of a micro-batch at two executions
  Kept,       // weights or states have changed, or no two executions of an update agree
};

class StepAudit {
 public:
  // All arguments must outlive this.
  StepAudit(uint64_t seed, Pipeline& pipeline, const Station& station);

  // Begins an audited step, before its pass.
  void begin(int64_t step);
  // What this rank has found before the update; collective over the replicas.
  [[nodiscard]] Doubt look();
  // Makes the update of the whole rank, by calling `update`, and audits a part of it. Collective
  // over all ranks; returns the worst that any rank has found.
  Doubt audit_update(Optimizer& optimizer, double learning_rate, double gradient_scale,
                     const std::function<void()>& update);
  // Collective over all ranks: what the ranks whose finding is `worst` have found, "rank 1 (host
  // n2): B1.2, executed twice, ...; rank 3 ...", the same on every rank. Lesser findings, which
  // follow from it, are left out.
  [[nodiscard]] std::string account(Doubt worst) const;
  // Collective over all ranks: the hosts of the ranks whose finding is `worst`, one a line.
  [[nodiscard]] std::string hosts(Doubt worst) const;
  // Collective over all ranks, after the step was taken again and nothing was found: says which
  // execution had been wrong.
  [[nodiscard]] std::string verdict() const;

  // The last audited step in which nothing was found; 0: none.
  [[nodiscard]] int64_t last_passed() const { return last_passed_; }
  // Notes that nothing was found in this step.
  void passed() { last_passed_ = step_; }

 private:
  [[nodiscard]] std::string on_all(const std::string& here) const;

  uint64_t seed_;
  Pipeline& pipeline_;
  Station station_;
  StateAudit state_;
  UpdateAudit update_;
  int64_t step_ = 0;
  int64_t last_passed_ = 0;
  Doubt here_ = Doubt::None;
  std::string found_;                     // what this rank has found
  std::vector<uint64_t> first_, second_;  // the checksums of both executions that differed
  std::string instruction_;               // the instruction that they belong to
};

}  // namespace penstock
