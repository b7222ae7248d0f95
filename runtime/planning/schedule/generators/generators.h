// runtime/planning/schedule/generators/generators.h -- the generators of all known schedules, as
// compute instructions only.
//
// Each function writes one order per rank; lower() then inserts what follows from it (messages,
// recomputes, reductions, the update). All of them run the backward passes of a stage in ascending
// micro-batch order, so that every schedule sums the same gradients in the same order.
//
// The charts (draw.h) have a row per rank and time from left to right: F, I, W and B are forward,
// input half, weight half and whole backward, of 4 micro-batches on 3 ranks, or of 2 on 2 where a
// rank holds two stages (F2.0: stage 2, micro-batch 0).
//
// Formulas: p ranks, m micro-batches, T_F and T_B the times of a forward and a whole backward (T_I
// + T_W when in halves) of one rank's layers on one micro-batch; messages cost nothing. Every
// function throws std::invalid_argument when a size is below 1 or the sizes together are too large
// (well_formed.h). known_schedules.h finds them by name.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// All forwards, then all backwards (GPipe, arXiv:1811.06965, figure 2c, whose backwards take the
// last micro-batch first, in the same time). Makespan (m + p - 1)(T_F + T_B); peak stash m on every
// rank.
//   F0 F1 F2 F3                   B0=== B1=== B2=== B3===
//      F0 F1 F2 F3          B0=== B1=== B2=== B3===
//         F0 F1 F2 F3 B0=== B1=== B2=== B3===
[[nodiscard]] Schedule gpipe(int stages, int micro_batches);

// 1F1B: a warm-up of min(m, p - 1 - r) forwards on rank r, then forward and backward in turn, then
// the cool-down (arXiv:2104.04473, figure 4). The makespan is gpipe's, the peak stash only min(m, p
// - r) on rank r.
//   F0 F1 F2             B0=== F3 B1===    B2===    B3===
//      F0 F1       B0=== F2 B1=== F3 B2===    B3===
//         F0 B0=== F1 B1=== F2 B2=== F3 B3===
[[nodiscard]] Schedule one_f_one_b(int stages, int micro_batches);

// 1F1B with a warm-up of min(m, 2(p - 1 - r)) forwards, so that a message has a whole slot to
// travel: a latency of c adds 2c(p - 1) to the step as in gpipe, not 2c per micro-batch as in 1F1B.
// Peak stash min(m, 2(p - 1 - r) + 1).
//   F0 F1 F2 F3          B0===    B1===    B2===    B3===
//      F0 F1 F2    B0=== F3 B1===    B2===    B3===
//         F0 B0=== F1 B1=== F2 B2=== F3 B3===
[[nodiscard]] Schedule one_f_one_b_deep(int stages, int micro_batches);

// Every rank holds `chunks` stages, looped, and alternates between them (arXiv:2104.04473, section
// 2.2). Makespan m(T_F + T_B) + (p - 1)(T_F + T_B) / chunks when m is a multiple of p; otherwise at
// most the makespan of the next multiple.
//   F0.0 F0.1 F2.0 F2.1           B2.0=====      B2.1===== B0.0===== B0.1=====
//        F1.0 F1.1 F3.0 B3.0===== F3.1 B3.1===== B1.0===== B1.1=====
[[nodiscard]] Schedule interleaved(int ranks, int chunks, int micro_batches);

// The stages of interleaved() breadth first (arXiv:2211.05953): all micro-batches go through one
// chunk, then through the next. For m >= p the makespan is that of interleaved(). The peak stash is
// everything, m * chunks, but a chunk's messages follow one another.
//   F0.0 F0.1 F2.0 F2.1                B2.0===== B2.1===== B0.0===== B0.1=====
//        F1.0 F1.1 F3.0 F3.1 B3.0===== B3.1===== B1.0===== B1.1=====
[[nodiscard]] Schedule looped_bfs(int ranks, int chunks, int micro_batches);

// Zero-bubble H1 (arXiv:2401.10241): weight gradients fill the cool-down. The peak stash is 1F1B's;
// the bubble (p - 1)(T_F + T_I - T_W) for m >= p and T_W <= T_F, T_I.
//   F0 F1 F2       I0 W0 F3 I1 W1 I2 W2 I3 W3
//      F0 F1    I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//         F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
[[nodiscard]] Schedule zb_h1(int stages, int micro_batches);

// Zero-bubble H2 (arXiv:2401.10241): runs twice as many forwards ahead as H1. For m >= 2p - 1 every
// rank's own bubble is only (p - 1)(T_F + T_I - 2 T_W), and with T_I = T_W the step as a whole
// takes as long as H1's; peak stash 2(p - r) - 1.
//   F0 F1 F2 F3    I0 W0 I1 W1 I2 W2 I3 W3
//      F0 F1 F2 I0 F3 I1    I2 W0 I3 W1 W2 W3
//         F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 W2 W3
[[nodiscard]] Schedule zb_h2(int stages, int micro_batches);

// Zero-bubble V (arXiv:2405.15362): two stages per rank in a V, peak stash 2p half-size stages on
// every rank. For T_W <= T_F <= T_I and m >= 2p - 1 every rank is busy from its first to its last
// instruction when T_I = T_W.
//   F0.0 F0.1      F3.0 I3.0 W3.0 F3.1 I3.1 W3.1 I0.0 W0.0      I0.1 W0.1
//        F1.0 F2.0 F1.1 F2.1 I2.0 W2.0 I1.0 W1.0 I2.1 W2.1 I1.1 W1.1
[[nodiscard]] Schedule zb_v(int ranks, int micro_batches);

// DualPipeV (arXiv:2412.19437, folded to a V): two stages per rank, forward and backward of
// different stages in turn. Peak stash 2p + 1 half-size stages on every rank for m >= 2p; bubble
// (p - 1) T_F / 2 when forward, input gradient and weight gradient take equally long.
//   F0.0 F0.1      F3.0 I3.0 W3.0 F3.1 B3.1===== B0.0=====           B0.1=====
//        F1.0 F2.0 F1.1 F2.1 B2.0===== B1.0===== B2.1===== B1.1=====
[[nodiscard]] Schedule dualpipe_v(int ranks, int micro_batches);

// Evaluation: forwards only. The second form keeps the placement of a training schedule and its
// order of forwards.
[[nodiscard]] Schedule forward_only(int stages, int micro_batches);
[[nodiscard]] Schedule forward_only(const Schedule& training);

}  // namespace penstock
