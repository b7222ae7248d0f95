// runtime/engine/training/audit/step_audit.h -- StepAudit: all that is audited in a step of this
// rank, and what all ranks learn of it.
//
// Three things are compared: what one micro-batch did (runtime/engine/pipeline/audit/audit.h), what
// is kept from step to step (state_audit.h), and a part of the update
// (runtime/network/optimizer/update_audit.h). The first two are known before the update, and travel
// with the votes of the step, so a step that somebody doubts changes nothing anywhere.
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

// The worst that any rank has found.
enum class Doubt : uint8_t {
  None,
  Corrected,  // an update, which was then made as two of three executions had it
  Disputed,   // as Computed, but only another replica's rank has other bits
  Computed,   // what a micro-batch made: the step has changed nothing, and may be taken again
  Kept,       // weights or states, or an update of which no two executions agree
};

class StepAudit {
 public:
  // All arguments must outlive it.
  StepAudit(uint64_t seed, Pipeline& pipeline, const Station& station);

  // Begins an audited step, before its pass.
  void begin(int64_t step);
  // What this rank has found before the update; collective over the replicas.
  [[nodiscard]] Doubt look();
  // Makes the update of the whole rank, by calling `update`, and audits a part of it. Collective
  // over all ranks; returns the worst that any has found.
  Doubt audit_update(Optimizer& optimizer, double learning_rate, double gradient_scale,
                     const std::function<void()>& update);
  // Collective over all ranks: what the ranks have found whose finding is `worst`, from which all
  // others follow. "rank 1 (host n2): B1.2, executed twice, ...; rank 3 ...", the same on all.
  [[nodiscard]] std::string account(Doubt worst) const;
  // Collective over all ranks: the hosts of those ranks, one a line.
  [[nodiscard]] std::string hosts(Doubt worst) const;
  // Collective over all ranks, after the step was taken again and nothing was found: which
  // execution had been wrong.
  [[nodiscard]] std::string verdict() const;

  [[nodiscard]] int64_t last_passed() const { return last_passed_; }
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
