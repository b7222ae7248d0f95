#include "runtime/engine/training/audit/step_audit.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <sstream>

namespace penstock {
namespace {

std::string hexadecimal(uint64_t sum) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(sum));
  return text.data();
}

std::string checksums_of(uint64_t first, uint64_t second) {
  return " (checksums " + hexadecimal(first) + " and " + hexadecimal(second) + ")";
}

}  // namespace

StepAudit::StepAudit(uint64_t seed, Pipeline& pipeline, const Station& station)
    : seed_(seed),
      pipeline_(pipeline),
      station_(station),
      state_(pipeline.state(), station.network.replicas(), station.device),
      update_(pipeline.state(), station.device) {}

void StepAudit::begin(int64_t step) {
  if (step != step_) {
    first_.clear();
    second_.clear();
  }
  step_ = step;
  here_ = Doubt::None;
  pipeline_.await_weights();
  state_.record();
}

Doubt StepAudit::look() {
  const std::string kept = state_.finding();
  const Audit& audit = pipeline_.training().audit();
  const std::optional<AuditFinding> made = audit.finding();
  if (!kept.empty()) {
    found_ = kept;
    return here_ = Doubt::Kept;
  }
  if (!made) return Doubt::None;
  const std::string differs = "differs in " + made->what + checksums_of(made->first, made->second);
  if (made->replica >= 0) {
    found_ = made->instruction + " of replica " + std::to_string(made->replica) +
             ", executed twice there and once here, " + differs;
    return here_ = Doubt::Disputed;
  }
  instruction_ = made->instruction;
  first_ = audit.first_sums();
  second_ = audit.second_sums();
  found_ = instruction_ + ", executed twice, " + differs;
  return here_ = Doubt::Computed;
}

Doubt StepAudit::audit_update(Optimizer& optimizer, double learning_rate, double gradient_scale,
                              const std::function<void()>& update) {
  update_.before(seed_, step_, station_.network.world().rank());
  update();
  const auto finding = update_.after(optimizer, learning_rate, gradient_scale);
  if (finding) {
    here_ = finding->corrected ? Doubt::Corrected : Doubt::Kept;
    found_ = "OPT, executed twice, differs in '" + finding->parameter + "'" +
             checksums_of(finding->first, finding->second) +
             (finding->corrected ? ", and was corrected by a third execution"
                                 : ", and in a third execution again");
  }
  std::array<double, 2> votes = {here_ == Doubt::Corrected ? 1.0 : 0.0,
                                 here_ == Doubt::Kept ? 1.0 : 0.0};
  station_.network.world().sum(votes);
  if (votes[1] > 0.0) return Doubt::Kept;
  return votes[0] > 0.0 ? Doubt::Corrected : Doubt::None;
}

// Returns the texts of all ranks that have something to say, one on a line. Every rank gets the
// same text.
std::string StepAudit::on_all(const std::string& here) const {
  Collective& world = station_.network.world();
  std::string all;
  for (const std::string& line : world.gather_text(here)) {
    if (!line.empty()) all += (all.empty() ? "" : "\n") + line;
  }
  return world.broadcast(all, 0);
}

std::string StepAudit::account(Doubt worst) const {
  const std::string who = "rank " + std::to_string(station_.network.world().rank()) + " (host " +
                          station_.session.host() + "): ";
  std::string all = on_all(here_ == worst ? who + found_ : "");
  for (size_t at = 0; (at = all.find('\n', at)) != std::string::npos;) all.replace(at, 1, "; ");
  return all;
}

std::string StepAudit::hosts(Doubt worst) const {
  std::istringstream lines(on_all(here_ == worst ? station_.session.host() : ""));
  std::set<std::string> each;
  for (std::string line; std::getline(lines, line);) each.insert(line);
  std::string all;
  for (const std::string& host : each) all += (all.empty() ? "" : "\n") + host;
  return all;
}

std::string StepAudit::verdict() const {
  std::string here;
  if (!first_.empty()) {
    const std::vector<uint64_t> now = pipeline_.training().audit().first_sums();
    here = "rank " + std::to_string(station_.network.world().rank()) + ": ";
    if (now == first_) {
      here += "the second execution of " + instruction_ + " was wrong";
    } else if (now == second_) {
      here += "the first execution of " + instruction_ + " was wrong";
    } else {
      here += "both executions of " + instruction_ + " were wrong, or what they were given was";
    }
  }
  std::string all = on_all(here);
  for (size_t at = 0; (at = all.find('\n', at)) != std::string::npos;) all.replace(at, 1, "; ");
  return all;
}

}  // namespace penstock
