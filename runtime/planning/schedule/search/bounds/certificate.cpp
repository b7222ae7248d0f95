// Certificates: made, and checked term by term.
#include "runtime/planning/schedule/search/bounds/certificate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "runtime/planning/schedule/search/exact.h"

namespace penstock {
namespace {

constexpr double kRounding = 1e-9;

[[noreturn]] void refuse_certificate(const std::string& message) {
  throw std::invalid_argument("the certificate does not hold: " + message);
}

std::string of_rank(const char* what, int rank) {
  return std::string(what) + " of rank " + std::to_string(rank);
}

void check_equal(const std::string& what, double said, double is) {
  if (std::abs(said - is) <= kRounding * std::abs(is)) return;
  refuse_certificate(what + " is " + std::to_string(is) + ", not " + std::to_string(said));
}

// A bound whose terms are no larger than what is so holds, too.
void check_at_most(const std::string& what, double said, double is) {
  if (said >= 0 && said <= is * (1 + kRounding)) return;
  refuse_certificate(what + " is " + std::to_string(is) + " at most, not " + std::to_string(said));
}

void refuse_above_limits(const SearchProblem& problem, const Schedule& schedule) {
  const std::vector<int64_t> held = peak_held(problem, schedule);
  for (size_t rank = 0; rank < problem.limit.size(); ++rank) {
    if (held[rank] <= problem.limit[rank]) continue;
    refuse_certificate("rank " + std::to_string(rank) + " holds " + std::to_string(held[rank]) +
                       " bytes, which is above its limit of " +
                       std::to_string(problem.limit[rank]));
  }
}

void check_schedule(const Certificate& certificate) {
  const SearchProblem& problem = certificate.problem;
  const Schedule& schedule = certificate.schedule;
  if (schedule.rank_of_stage != problem.rank_of_stage || schedule.ranks != problem.ranks ||
      schedule.micro_batches != problem.micro_batches) {
    refuse_certificate(
        "its schedule has other sizes, or other stages on its ranks, than its costs");
  }
  check_equal("the length of the schedule's step", certificate.makespan,
              proved_makespan(problem, schedule));
  refuse_above_limits(problem, schedule);
}

void check_rank(const StepWork& work, int rank) {
  if (rank >= 0 && rank < work.ranks) return;
  refuse_certificate("a bound is of rank " + std::to_string(rank) + ", but ranks are 0 to " +
                     std::to_string(work.ranks - 1));
}

void check_work(const StepWork& work, const HeadsAndTails& known, const WorkBound& bound) {
  check_rank(work, bound.rank);
  if (!(bound.head >= 0 && bound.tail >= 0)) {
    refuse_certificate(of_rank("a bound", bound.rank) + " has a time that is below 0");
  }
  // A head that is larger by a rounding would leave out the very part that has it.
  const double head = bound.head * (1 - kRounding);
  const double tail = bound.tail * (1 - kRounding);
  check_at_most(of_rank("the work within its bound", bound.rank), bound.work,
                work_from(work, known, bound.rank, head, tail));
}

void check_memory(const std::vector<MemoryBound>& so, const MemoryBound& said) {
  const auto is = std::find_if(so.begin(), so.end(),
                               [&](const MemoryBound& each) { return each.rank == said.rank; });
  if (is == so.end()) {
    refuse_certificate(of_rank("a bound of memory", said.rank) + " is there, but no limit of it");
  }
  check_at_most(of_rank("the head of memory", said.rank), said.head, is->head);
  check_at_most(of_rank("the tail of memory", said.rank), said.tail, is->tail);
  check_at_most(of_rank("what is held over time", said.rank), said.byte_seconds, is->byte_seconds);
  if (said.limit < is->limit) {
    refuse_certificate(of_rank("the limit", said.rank) + " is " + std::to_string(is->limit) +
                       ", not " + std::to_string(said.limit));
  }
}

void check_orders(const StepWork& work, const HeadsAndTails& known, const OrdersBound& bound) {
  for (const int rank : bound.ranks) check_rank(work, rank);
  const bool ascend =
      std::ranges::adjacent_find(bound.ranks, std::greater_equal<int>()) == bound.ranks.end();
  if (bound.ranks.empty() || bound.ranks.size() > kMostRanksTogether || !ascend) {
    refuse_certificate("the ranks of which all orders were tried are none, too many or unsorted");
  }
  if (no_order_ends_before(work, known, bound)) return;
  refuse_certificate("it does not come out that no order of some ranks ends before " +
                     std::to_string(bound.total));
}

// The largest bound of a certificate.
double largest(const Certificate& certificate) {
  double bound = 0;
  for (const WorkBound& each : certificate.work) bound = std::max(bound, each.total());
  for (const MemoryBound& each : certificate.memory) bound = std::max(bound, each.total());
  if (certificate.orders) bound = std::max(bound, certificate.orders->total);
  return bound;
}

// Whether all orders have been tried, and none has a shorter step.
bool none_is_shorter(const StepWork& work, const HeadsAndTails& known, double makespan) {
  if (!may_try_all_orders(work)) return false;
  const std::optional<Programs> shorter = best_programs(work, known, makespan);
  return shorter && shorter->empty();
}

double gap_of(double makespan, double bound) {
  return bound > 0 ? std::max(0.0, makespan / bound - 1) : 0;
}

}  // namespace

Certificate certify(const SearchProblem& problem, const Schedule& schedule, BoundEffort effort) {
  check_problem(problem);
  const StepWork work = work_of(problem);
  const HeadsAndTails known = heads_and_tails(work);
  Certificate certificate{.problem = problem,
                          .schedule = schedule,
                          .makespan = proved_makespan(problem, schedule),
                          .work = work_bounds(work, known),
                          .memory = memory_bounds(work, known)};
  refuse_above_limits(problem, schedule);
  certificate.bound = largest(certificate);
  const bool is_open = certificate.bound < certificate.makespan * (1 - kRounding);
  if (is_open && none_is_shorter(work, known, certificate.makespan)) {
    certificate.all_orders_tried = true;
    certificate.bound = certificate.makespan;
  } else if (is_open && effort == BoundEffort::Thorough) {
    certificate.orders = orders_bound(work, known, certificate.bound, certificate.makespan);
    certificate.bound = largest(certificate);
  }
  certificate.gap = gap_of(certificate.makespan, certificate.bound);
  return certificate;
}

void check_certificate(const Certificate& certificate) {
  check_problem(certificate.problem);
  check_schedule(certificate);
  const StepWork work = work_of(certificate.problem);
  const HeadsAndTails known = heads_and_tails(work);
  for (const WorkBound& bound : certificate.work) check_work(work, known, bound);
  const std::vector<MemoryBound> so = memory_bounds(work, known);
  for (const MemoryBound& bound : certificate.memory) check_memory(so, bound);
  if (certificate.orders) check_orders(work, known, *certificate.orders);
  const bool tried = certificate.all_orders_tried;
  if (tried && !none_is_shorter(work, known, certificate.makespan)) {
    refuse_certificate("another order takes less, or there are too many to be tried");
  }
  check_equal(tried ? "the shortest step of all orders" : "the largest of its bounds",
              certificate.bound, tried ? certificate.makespan : largest(certificate));
  const double gap = gap_of(certificate.makespan, certificate.bound);
  check_equal("one and the gap", 1 + certificate.gap, 1 + gap);
}

}  // namespace penstock
