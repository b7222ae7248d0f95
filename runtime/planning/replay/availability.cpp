#include "runtime/planning/replay/availability.h"

#include <cmath>
#include <stdexcept>

namespace penstock {

double best_checkpoint_interval(const FailureModel& failures) {
  const double mtbf = failures.job_mtbf_s;
  const double cost = failures.checkpoint_s;
  if (!(mtbf > 0 && cost > 0)) {
    throw std::invalid_argument(
        "the best checkpoint interval needs a time between failures and one for a checkpoint");
  }
  if (cost >= 2 * mtbf) return mtbf;
  const double ratio = cost / (2 * mtbf);
  return std::sqrt(2 * cost * mtbf) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - cost;
}

double goodput(const FailureModel& failures, double interval_s) {
  const double length = interval_s + failures.checkpoint_s;
  if (!(failures.job_mtbf_s > 0)) return interval_s / length;
  const double mtbf = failures.job_mtbf_s;
  return interval_s / (mtbf * std::exp(failures.restart_s / mtbf) * std::expm1(length / mtbf));
}

}  // namespace penstock
