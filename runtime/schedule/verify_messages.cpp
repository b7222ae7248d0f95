// What passes between ranks: both ends of every edge, and who waits for whom.
#include <algorithm>

#include "runtime/schedule/evidence.h"
#include "runtime/schedule/form.h"
#include "runtime/schedule/replay.h"

namespace penstock {
namespace {

// The messages of one directed edge.
struct Edge {
  Op send;
  Op receive;
  int from;  // stage
  int to;    // stage, on another rank
};

std::vector<Edge> edges_of(const Evidence& e) {
  std::vector<Edge> edges;
  for (int stage = 0; stage + 1 < e.schedule.stages; ++stage) {
    if (e.rank_of(stage) == e.rank_of(stage + 1)) continue;
    edges.push_back({Op::SendActivation, Op::RecvActivation, stage, stage + 1});
    if (e.training) edges.push_back({Op::SendGradient, Op::RecvGradient, stage + 1, stage});
  }
  return edges;
}

void check_ends(const Evidence& e, const Edge& edge) {
  for (int j = 0; j < e.schedule.micro_batches; ++j) {
    const Instruction send{edge.send, edge.from, j};
    const Instruction receive{edge.receive, edge.to, j};
    const bool sent = e.positions.of(send) != kAbsent;
    const bool received = e.positions.of(receive) != kAbsent;
    if (sent && received) continue;
    if (sent) refuse_missing(e, receive, "nobody takes what " + e.where(send) + " sends");
    if (received) refuse_missing(e, send, e.where(receive) + " waits for it");
    refuse_missing(e, send,
                   "stage " + std::to_string(edge.to) + " on rank " +
                       std::to_string(e.rank_of(edge.to)) +
                       " needs it, and does not receive it either; has this schedule been through "
                       "lower()?");
  }
}

// Micro-batches in the order in which `op` of `stage` stands in the program.
std::vector<int> order_of(const Evidence& e, Op op, int stage) {
  std::vector<int> order(e.schedule.micro_batches);
  for (int j = 0; j < e.schedule.micro_batches; ++j) order[j] = j;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return e.positions.of(op, stage, a) < e.positions.of(op, stage, b);
  });
  return order;
}

void check_order(const Evidence& e, const Edge& edge) {
  const std::vector<int> sent = order_of(e, edge.send, edge.from);
  const std::vector<int> received = order_of(e, edge.receive, edge.to);
  const auto [a, b] = std::mismatch(sent.begin(), sent.end(), received.begin());
  if (a == sent.end()) return;
  refuse_schedule("message " + std::to_string(a - sent.begin() + 1) + " from stage " +
                  std::to_string(edge.from) + " to stage " + std::to_string(edge.to) +
                  " is sent by " + e.where({edge.send, edge.from, *a}) + " but received by " +
                  e.where({edge.receive, edge.to, *b}) +
                  "; messages of one edge arrive in the order they were sent");
}

// The send that a waiting receive needs.
Instruction send_of(const Instruction& receive) {
  const Op op = receive.op == Op::RecvActivation ? Op::SendActivation : Op::SendGradient;
  return {op, peer_stage(receive), receive.micro_batch};
}

}  // namespace

void check_both_ends(const Evidence& e) {
  for (const Edge& edge : edges_of(e)) check_ends(e, edge);
}

void check_first_in_first_out(const Evidence& e) {
  for (const Edge& edge : edges_of(e)) check_order(e, edge);
}

// A stuck rank waits for a send that exists (both ends were compared) and that its own rank does
// not reach, so following the waits from any stuck rank runs into a circle.
void check_deadlock(const Evidence& e) {
  const auto& program = e.schedule.program;
  const std::vector<int> end = replay(e.schedule, [](int, int) {});
  int rank = 0;
  while (rank < e.schedule.ranks && end[rank] == static_cast<int>(program[rank].size())) ++rank;
  if (rank == e.schedule.ranks) return;

  std::vector<bool> passed(e.schedule.ranks, false);
  while (!passed[rank]) {
    passed[rank] = true;
    rank = e.rank_of(peer_stage(program[rank][end[rank]]));
  }
  std::string circle;
  const int start = rank;
  do {
    const Instruction& receive = program[rank][end[rank]];
    const Instruction send = send_of(receive);
    circle += (circle.empty() ? "" : "; ") + where(e.schedule, rank, end[rank]) + " waits for " +
              e.where(send);
    rank = e.rank_of(send.stage);
    circle += ", which comes after " + where(e.schedule, rank, end[rank]);
  } while (rank != start);
  refuse_schedule("deadlock: " + circle);
}

}  // namespace penstock
