#include "runtime/records/report/time_shares.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

namespace penstock {
namespace {

// This is what a receiver knows of a message: replica, whether it is an activation, the stage that
// sends, the stage that receives, micro-batch.
using MessageKey = std::tuple<int, bool, int, int, int>;

bool is_activation(Op op) {
  return op == Op::SendActivation || op == Op::RecvActivation;
}

// Returns the stage at the other end of a message: the named peer, or the neighbour if none is
// named.
int peer_of(const Instruction& message) {
  if (message.peer >= 0) return message.peer;
  const bool is_up = message.op == Op::SendActivation || message.op == Op::RecvGradient;
  return is_up ? message.stage + 1 : message.stage - 1;
}

// These are the times when messages were posted, and when their contents were computed.
struct Sources {
  std::map<MessageKey, double> posted;
  // The key is replica, whether it is an activation (else a gradient), stage, micro-batch.
  std::map<std::tuple<int, bool, int, int>, double> computed;
};

Sources sources_of(const RecordedProcess& process) {
  Sources sources;
  for (const RecordedRank& rank : process.ranks) {
    for (const RecordedSpan& span : rank.spans) {
      const auto& [op, stage, micro_batch, peer] = span.instruction;
      if (is_send(op)) {
        const int to = peer_of(span.instruction);
        sources.posted[{rank.replica, is_activation(op), stage, to, micro_batch}] = span.end_ms;
      } else if (op == Op::Forward) {
        sources.computed[{rank.replica, true, stage, micro_batch}] = span.end_ms;
      } else if (op == Op::Backward || op == Op::BackwardInput) {
        sources.computed[{rank.replica, false, stage, micro_batch}] = span.end_ms;
      }
    }
  }
  return sources;
}

// Returns when a message was ready for its receive. If the trace does not tell, that is the start
// of the receive.
double sent_at(const Sources& sources, int replica, const RecordedSpan& receive) {
  const Instruction& message = receive.instruction;
  const int from = peer_of(message);
  const bool activation = is_activation(message.op);
  const auto posted =
      sources.posted.find({replica, activation, from, message.stage, message.micro_batch});
  if (posted != sources.posted.end()) return posted->second;
  const auto computed = sources.computed.find({replica, activation, from, message.micro_batch});
  return computed != sources.computed.end() ? computed->second : receive.start_ms;
}

struct Ends {
  double first = std::numeric_limits<double>::infinity();     // first start of any rank
  double compute = -std::numeric_limits<double>::infinity();  // last end of computing
  double sums = -std::numeric_limits<double>::infinity();     // last end of a sum
  double last = -std::numeric_limits<double>::infinity();
};

Ends ends_of(const RecordedProcess& process) {
  Ends ends;
  for (const RecordedRank& rank : process.ranks) {
    for (const RecordedSpan& span : rank.spans) {
      ends.first = std::min(ends.first, span.start_ms);
      ends.last = std::max(ends.last, span.end_ms);
      if (is_compute(span.instruction.op)) ends.compute = std::max(ends.compute, span.end_ms);
      if (span.instruction.op == Op::ReduceGradients) {
        ends.sums = std::max(ends.sums, span.end_ms);
      }
    }
  }
  return ends;
}

// Tells how much time of a range no earlier range has taken. take() takes [start, end] and returns
// how much of that was free. Ranges must come in ascending order of their starts.
class FreeTime {
 public:
  explicit FreeTime(double from) : from_(from) {}
  double take(double start, double end) {
    start = std::max(start, from_);
    from_ = std::max(from_, end);
    return std::max(0.0, end - start);
  }

 private:
  double from_;  // all time before this is taken
};

void count_span(TimeShares& shares, double time, const RecordedSpan& span) {
  switch (span.instruction.op) {
    case Op::Forward:
    case Op::Backward:
    case Op::BackwardInput:
    case Op::BackwardWeight:
      shares.compute += time;
      break;
    case Op::Recompute:
      shares.recompute += time;
      break;
    case Op::SendActivation:
    case Op::SendGradient:
      shares.communication += time;
      break;
    default:  // counted elsewhere: receives, sums and the update
      break;
  }
}

// Returns the time of a sum during which its rank does nothing else. `others` must not overlap one
// another.
double uncovered_time(const RecordedSpan& sum, const std::vector<const RecordedSpan*>& others) {
  double time = sum.end_ms - sum.start_ms;
  for (const RecordedSpan* other : others) {
    time -= std::max(0.0,
                     std::min(sum.end_ms, other->end_ms) - std::max(sum.start_ms, other->start_ms));
  }
  return std::max(0.0, time);
}

// Returns the spans of a rank, except sums and the update, in ascending order of their starts.
std::vector<const RecordedSpan*> work_of(const RecordedRank& rank) {
  std::vector<const RecordedSpan*> spans;
  for (const RecordedSpan& span : rank.spans) {
    const Op op = span.instruction.op;
    if (op != Op::OptimizerStep && op != Op::ReduceGradients) spans.push_back(&span);
  }
  std::stable_sort(spans.begin(), spans.end(), [](const RecordedSpan* a, const RecordedSpan* b) {
    return a->start_ms < b->start_ms;
  });
  return spans;
}

TimeShares shares_of_rank(const RecordedRank& rank, const Sources& sources, const Ends& ends) {
  const std::vector<const RecordedSpan*> spans = work_of(rank);
  const double until = std::max(ends.compute, ends.first);
  TimeShares shares;
  FreeTime free(ends.first);
  for (const RecordedSpan* span : spans) {
    const double end = std::min(span->end_ms, until);
    if (is_message(span->instruction.op) && !is_send(span->instruction.op)) {
      // Waiting before the message was sent is bubble. So that time is taken here, and added to no
      // share.
      free.take(span->start_ms, std::min(sent_at(sources, rank.replica, *span), end));
      shares.communication += free.take(span->start_ms, end);
    } else {
      count_span(shares, free.take(span->start_ms, end), *span);
    }
  }
  for (const RecordedSpan& span : rank.spans) {
    if (span.instruction.op != Op::ReduceGradients || span.end_ms > until) continue;
    shares.reduction += uncovered_time(span, spans);
  }
  const double summed = std::clamp(ends.sums, until, ends.last);
  shares.reduction += summed - until;
  shares.optimizer = ends.last - summed;
  shares.bubble = std::max(0.0, ends.last - ends.first - shares.total());
  return shares;
}

}  // namespace

StepShares time_shares(const RecordedProcess& process) {
  StepShares result;
  const Ends ends = ends_of(process);
  if (!(ends.last > ends.first)) return result;
  result.length_ms = ends.last - ends.first;
  const Sources sources = sources_of(process);
  for (const RecordedRank& rank : process.ranks) {
    result.ranks.push_back(shares_of_rank(rank, sources, ends));
  }
  return result;
}

TimeShares mean_of(const std::vector<StepShares>& steps) {
  TimeShares sum;
  double count = 0;
  for (const StepShares& step : steps) {
    for (const TimeShares& rank : step.ranks) {
      sum.compute += rank.compute;
      sum.recompute += rank.recompute;
      sum.bubble += rank.bubble;
      sum.communication += rank.communication;
      sum.reduction += rank.reduction;
      sum.optimizer += rank.optimizer;
      ++count;
    }
  }
  if (count == 0) return sum;
  for (double* share : {&sum.compute, &sum.recompute, &sum.bubble, &sum.communication,
                        &sum.reduction, &sum.optimizer}) {
    *share /= count;
  }
  return sum;
}

}  // namespace penstock
