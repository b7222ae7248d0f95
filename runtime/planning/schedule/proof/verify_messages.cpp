// The checks of messages between ranks: both ends of every edge, and who waits for whom.
#include <algorithm>
#include <numeric>

#include "runtime/planning/schedule/proof/evidence.h"
#include "runtime/planning/schedule/proof/replay.h"
#include "runtime/planning/schedule/well_formed.h"

namespace penstock {
namespace {

// These are the messages along an edge in one direction. A message goes from the instruction that
// makes it to the instruction that needs it, on another rank.
struct Passage {
  Op send;
  Op receive;
  int from;  // stage
  int to;    // stage on another rank

  [[nodiscard]] Instruction sending(int j) const { return {send, from, j, to}; }
  [[nodiscard]] Instruction receiving(int j) const { return {receive, to, j, from}; }
};

std::vector<Passage> passages_of(const Evidence& e) {
  std::vector<Passage> passages;
  for (int edge = 0; edge < e.edges.count(); ++edge) {
    const auto [from, to] = e.edges.ends(edge);
    if (e.rank_of(from) == e.rank_of(to)) continue;
    passages.push_back({Op::SendActivation, Op::RecvActivation, from, to});
    if (e.training) passages.push_back({Op::SendGradient, Op::RecvGradient, to, from});
  }
  return passages;
}

void check_ends(const Evidence& e, const Passage& passage) {
  for (int j = 0; j < e.schedule.micro_batches; ++j) {
    const Instruction send = passage.sending(j);
    const Instruction receive = passage.receiving(j);
    const bool sent = e.positions.has(send);
    const bool received = e.positions.has(receive);
    if (sent && received) continue;
    if (sent) refuse_missing(e, receive, "nobody takes what " + e.where(send) + " sends");
    if (received) refuse_missing(e, send, e.where(receive) + " waits for it");
    refuse_missing(e, send,
                   "stage " + std::to_string(passage.to) + " on rank " +
                       std::to_string(e.rank_of(passage.to)) +
                       " needs it, and does not receive it either; has this schedule been through "
                       "lower()?");
  }
}

// Checks that each message leaves after the instruction that makes it, and is there before the
// instruction that needs it.
void check_order(const Evidence& e, const Passage& passage) {
  const bool forward = passage.send == Op::SendActivation;
  const auto compute = [&](int stage, int j) {
    return forward ? Instruction{Op::Forward, stage, j} : e.input_gradient(stage, j);
  };
  for (int j = 0; j < e.schedule.micro_batches; ++j) {
    require_order(e, compute(passage.from, j), passage.sending(j));
    require_order(e, passage.receiving(j), compute(passage.to, j));
  }
}

// Returns the micro-batches in the order in which their instructions `message(j)` stand in the
// program.
template <typename Message>
std::vector<int> order_of(const Evidence& e, const Message& message) {
  const auto earlier = [&](int a, int b) {
    return e.positions.of(message(a)) < e.positions.of(message(b));
  };
  std::vector<int> order(e.schedule.micro_batches);
  std::iota(order.begin(), order.end(), 0);
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    std::sort(order.begin(), order.end(), earlier);
  }
  return order;
}

void check_first_in_first_out(const Evidence& e, const Passage& passage) {
  const auto sent = order_of(e, [&](int j) { return passage.sending(j); });
  const auto received = order_of(e, [&](int j) { return passage.receiving(j); });
  const auto [a, b] = std::mismatch(sent.begin(), sent.end(), received.begin());
  if (a == sent.end()) return;
  refuse_schedule("message " + std::to_string(a - sent.begin() + 1) + " from stage " +
                  std::to_string(passage.from) + " to stage " + std::to_string(passage.to) +
                  " is sent by " + e.where(passage.sending(*a)) + " but received by " +
                  e.where(passage.receiving(*b)) +
                  "; messages of one edge arrive in the order they were sent");
}

// Returns the instruction that a stuck instruction waits for. A receive waits for its send; a send
// waits for the receive that would make room in the window.
Instruction awaited_by(const Evidence& e, const TransportRules& rules, int rank, int index) {
  const auto& program = e.schedule.program[rank];
  const auto [op, stage, micro_batch, peer] = program[index];
  if (op == Op::RecvActivation) return {Op::SendActivation, peer, micro_batch, stage};
  if (op == Op::RecvGradient) return {Op::SendGradient, peer, micro_batch, stage};
  std::vector<int> sent;  // micro-batches sent so far, in order
  for (int i = 0; i < index; ++i) {
    const Instruction& other = program[i];
    const bool same_edge = other.op == op && other.stage == stage && other.peer == peer;
    if (same_edge) sent.push_back(other.micro_batch);
  }
  const int oldest = sent[sent.size() - static_cast<size_t>(rules.window)];
  const Op receive = op == Op::SendActivation ? Op::RecvActivation : Op::RecvGradient;
  return {receive, peer, oldest, stage};
}

}  // namespace

void check_both_ends(const Evidence& e) {
  for (const Passage& passage : passages_of(e)) check_ends(e, passage);
}

void check_message_order(const Evidence& e) {
  for (const Passage& passage : passages_of(e)) check_order(e, passage);
}

void check_first_in_first_out(const Evidence& e) {
  for (const Passage& passage : passages_of(e)) check_first_in_first_out(e, passage);
}

// Refuses a schedule that deadlocks, and says who waits for whom. A stuck rank waits for a message
// that exists (both ends were compared), and whose other end is stuck as well. So following the
// waits from any stuck rank leads into a circle.
void check_deadlock(const Evidence& e, const TransportRules& rules) {
  const auto& program = e.schedule.program;
  const std::vector<int> end = replay(e.schedule, rules, [](int, int) {});
  int rank = 0;
  while (rank < e.schedule.ranks && end[rank] == static_cast<int>(program[rank].size())) ++rank;
  if (rank == e.schedule.ranks) return;

  std::vector<bool> passed(e.schedule.ranks, false);
  while (!passed[rank]) {
    passed[rank] = true;
    rank = e.rank_of(program[rank][end[rank]].peer);
  }
  std::string circle;
  const int start = rank;
  do {
    const Instruction awaited = awaited_by(e, rules, rank, end[rank]);
    circle += (circle.empty() ? "" : "; ") + where(e.schedule, rank, end[rank]) + " waits for " +
              e.where(awaited);
    rank = e.rank_of(awaited.stage);
    circle += ", which comes after " + where(e.schedule, rank, end[rank]);
  } while (rank != start);
  const bool windowed = rules.window != TransportRules::kSendsNeverWait;
  refuse_schedule(
      "deadlock" +
      (windowed ? " with a window of " + std::to_string(rules.window) + " messages" : "") + ": " +
      circle);
}

}  // namespace penstock
