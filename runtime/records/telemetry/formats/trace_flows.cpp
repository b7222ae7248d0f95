#include "runtime/records/telemetry/formats/trace_flows.h"

#include <map>
#include <optional>
#include <tuple>

namespace penstock {
namespace {

using Spans = std::vector<TimedInstruction>;
// This identifies a message: replica, whether it is an activation, stages from and to, micro-batch.
using MessageKey = std::tuple<int, bool, int, int, int>;

// Returns whether an arrow can begin or end at this span. A sum runs beside the rest: no message
// waits for it, and none comes out of it.
bool may_hold_arrow(const TimedInstruction& span) {
  return takes_time(span) && span.instruction.op != Op::ReduceGradients;
}

std::optional<size_t> sender_in(const Spans& spans, size_t send) {
  for (size_t i = send + 1; i-- > 0;) {
    if (may_hold_arrow(spans[i])) return i;
  }
  return std::nullopt;
}

std::optional<size_t> receiver_in(const Spans& spans, size_t receive) {
  for (size_t i = receive; i < spans.size(); ++i) {
    if (may_hold_arrow(spans[i])) return i;
  }
  return std::nullopt;
}

int replica_of(const std::vector<int>& replicas, size_t rank) {
  return rank < replicas.size() ? replicas[rank] : 0;
}

}  // namespace

std::vector<TraceFlow> flows_of(const Timeline& timeline, const std::vector<int>& replicas) {
  std::map<MessageKey, std::pair<size_t, size_t>> sends;  // rank and index of the send
  for (size_t rank = 0; rank < timeline.rank.size(); ++rank) {
    for (size_t i = 0; i < timeline.rank[rank].size(); ++i) {
      const Instruction& what = timeline.rank[rank][i].instruction;
      if (!is_send(what.op)) continue;
      sends[{replica_of(replicas, rank), what.op == Op::SendActivation, what.stage, what.peer,
             what.micro_batch}] = {rank, i};
    }
  }
  std::vector<TraceFlow> flows;
  for (size_t rank = 0; rank < timeline.rank.size(); ++rank) {
    for (size_t i = 0; i < timeline.rank[rank].size(); ++i) {
      const Instruction& what = timeline.rank[rank][i].instruction;
      if (!is_message(what.op) || is_send(what.op)) continue;
      const bool activation = what.op == Op::RecvActivation;
      const auto send = sends.find(
          {replica_of(replicas, rank), activation, what.peer, what.stage, what.micro_batch});
      if (send == sends.end()) continue;
      const auto [from_rank, sent] = send->second;
      const std::optional<size_t> from = sender_in(timeline.rank[from_rank], sent);
      const std::optional<size_t> to = receiver_in(timeline.rank[rank], i);
      if (from && to) flows.push_back({activation, from_rank, *from, rank, *to});
    }
  }
  return flows;
}

}  // namespace penstock
