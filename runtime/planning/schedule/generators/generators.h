// runtime/planning/schedule/generators/generators.h -- one function for each pipeline schedule that
// Penstock knows: in which order each rank runs its forwards and backwards.
//
// Each function returns a Schedule (schedule.h) with compute instructions only. lower() (lower.h)
// then inserts messages, recomputes, sums over replicas and the update. known_schedules.h finds the
// functions by name, which is how programs call them. In all of them each stage runs its backwards
// in ascending micro-batch order, so that every schedule adds up the same gradients in the same
// order.
//
// The charts below have a row per rank and time from left to right. F, B, I and W are a forward, a
// whole backward, its input half (gradient of the stage's input) and its weight half (gradient of
// the weights). The charts with one stage per rank show 4 micro-batches on 3 ranks; F3 is the
// forward of micro-batch 3. The charts with two stages per rank show 2 micro-batches on 2 ranks;
// F2.0 is the forward of micro-batch 0 on stage 2.
//
// In the formulas p is the number of ranks, m that of micro-batches, r a rank (from 0). T_F and T_B
// are the times of a forward and a whole backward of all layers of one rank on one micro-batch, T_I
// and T_W those of its halves (T_B = T_I + T_W); messages take no time. The makespan is the length
// of the step without sums and update. The stash is what forwards keep for their backwards; its
// peak is counted in micro-batches of one stage.
//
// Every function throws std::invalid_argument when a size is below 1 or the sizes together exceed
// the limits of well_formed.h.
#pragma once

#include "runtime/planning/schedule/schedule.h"

namespace penstock {

// All forwards, then all backwards (GPipe, arXiv:1811.06965, figure 2c; there the backwards begin
// with the last micro-batch, which takes the same time). Makespan (m + p - 1)(T_F + T_B); peak
// stash m on every rank.
//   F0 F1 F2 F3                   B0=== B1=== B2=== B3===
//      F0 F1 F2 F3          B0=== B1=== B2=== B3===
//         F0 F1 F2 F3 B0=== B1=== B2=== B3===
[[nodiscard]] Schedule gpipe(int stages, int micro_batches);

// 1F1B: a warm-up of min(m, p - 1 - r) forwards on rank r, then forward and backward in turn, then
// the cool-down (arXiv:2104.04473, figure 4). The makespan is gpipe's, the peak stash only min(m, p
// - r) on rank r. `warm_up` is how many more forwards rank 0 runs before its first backward, and
// the others in proportion (warm_up.h): each is a stash more, and time for a message to travel.
//   F0 F1 F2             B0=== F3 B1===    B2===    B3===
//      F0 F1       B0=== F2 B1=== F3 B2===    B3===
//         F0 B0=== F1 B1=== F2 B2=== F3 B3===
[[nodiscard]] Schedule one_f_one_b(int stages, int micro_batches, int warm_up = 0);

// 1F1B with `warm_up` p - 1, which is a warm-up of min(m, 2(p - 1 - r)) forwards, so that a message
// has a whole slot to travel: a latency of c adds 2c(p - 1) to the step as in gpipe, not 2c per
// micro-batch as in 1F1B. Peak stash min(m, 2(p - 1 - r) + 1).
//   F0 F1 F2 F3          B0===    B1===    B2===    B3===
//      F0 F1 F2    B0=== F3 B1===    B2===    B3===
//         F0 B0=== F1 B1=== F2 B2=== F3 B3===
[[nodiscard]] Schedule one_f_one_b_deep(int stages, int micro_batches);

// Interleaved 1F1B: every rank holds `chunks` stages, stage s on rank s mod p, and alternates
// between them (arXiv:2104.04473, section 2.2). Makespan m(T_F + T_B) + (p - 1)(T_F + T_B) / chunks
// when m is a multiple of p; otherwise at most the makespan for the next larger multiple of p.
//   F0.0 F0.1 F2.0 F2.1           B2.0=====      B2.1===== B0.0===== B0.1=====
//        F1.0 F1.1 F3.0 B3.0===== F3.1 B3.1===== B1.0===== B1.1=====
[[nodiscard]] Schedule interleaved(int ranks, int chunks, int micro_batches);

// Looped breadth-first (arXiv:2211.05953): the stages lie on ranks as in interleaved(), but a rank
// runs all micro-batches through its first stage, then all through its next. For m >= p the
// makespan is that of interleaved() with m a multiple of p. The peak stash is everything, m *
// chunks; in return all messages of one stage follow one another.
//   F0.0 F0.1 F2.0 F2.1                B2.0===== B2.1===== B0.0===== B0.1=====
//        F1.0 F1.1 F3.0 F3.1 B3.0===== B3.1===== B1.0===== B1.1=====
[[nodiscard]] Schedule looped_bfs(int ranks, int chunks, int micro_batches);
// The same in any placement (placed(), placement.h), with unequal numbers of stages on ranks, too.
[[nodiscard]] Schedule looped_bfs(const std::vector<int>& rank_of_stage, int micro_batches);

// Zero-bubble H1 (arXiv:2401.10241): weight gradients fill the cool-down. The peak stash is 1F1B's;
// the bubble (p - 1)(T_F + T_I - T_W) for m >= p and T_W <= T_F, T_I. Each forward more of
// `warm_up` (see one_f_one_b()) takes T_W from the bubble, down to (p - 1) T_F, for m >= p +
// warm_up.
//   F0 F1 F2       I0 W0 F3 I1 W1 I2 W2 I3 W3
//      F0 F1    I0 F2 I1 W0 F3 I2 W1 I3 W2 W3
//         F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3
[[nodiscard]] Schedule zb_h1(int stages, int micro_batches, int warm_up = 0);

// Zero-bubble H2 (arXiv:2401.10241): H1 with `warm_up` p - 1, twice as many forwards ahead. For m
// >= 2p - 1 every rank's own bubble is only (p - 1)(T_F + T_I - 2 T_W), and with T_I = T_W the step
// as a whole takes as long as H1's; peak stash 2(p - r) - 1.
//   F0 F1 F2 F3    I0 W0 I1 W1 I2 W2 I3 W3
//      F0 F1 F2 I0 F3 I1    I2 W0 I3 W1 W2 W3
//         F0 I0 F1 I1 F2 I2 F3 I3 W0 W1 W2 W3
[[nodiscard]] Schedule zb_h2(int stages, int micro_batches);

// Zero-bubble V (arXiv:2405.15362): two stages per rank, placed in a V: rank r holds stages r and
// 2p - 1 - r. The peak stash is 2p micro-batches of one stage (half of a rank's layers) on every
// rank. For T_W <= T_F <= T_I and m >= 2p - 1 every rank is busy from its first to its last
// instruction when T_I = T_W.
//   F0.0 F0.1      F3.0 I3.0 W3.0 F3.1 I3.1 W3.1 I0.0 W0.0      I0.1 W0.1
//        F1.0 F2.0 F1.1 F2.1 I2.0 W2.0 I1.0 W1.0 I2.1 W2.1 I1.1 W1.1
[[nodiscard]] Schedule zb_v(int ranks, int micro_batches);

// V-half and V-min (arXiv:2405.15362): placed as zb_v(), with fewer stashes and a larger bubble.
// They are made for T_F = T_I = T_W: unlike times leave gaps in the pattern that they repeat.
//
// V-half has about half of 1F1B's peak stash and of its bubble. The peak is p + 1 micro-batches of
// one stage (half of a rank's layers) on every rank; for equal times and m >= p the bubble is
// (3p - 4) T_F / 2 for even p and 3 (p - 1) T_F / 2 for odd p.
//   F0.0 F0.1      F3.0 I3.0 W3.0      I0.0 F3.1 I3.1 W3.1 W0.0 I0.1 W0.1
//        F1.0 F2.0 F1.1      I2.0 I1.0 F2.1 W2.0 W1.0 I2.1 I1.1 W2.1 W1.1
//
// V-min has about a third of 1F1B's peak stash and two thirds of its bubble. The peak is
// 2 (floor(p / 3) + 1) micro-batches of one stage on the fullest rank; for equal times and p > 1
// the bubble is (4p - 5) T_F / 2, or (4p - 4) T_F / 2 where p is a multiple of 3.
//   F0.0           F3.0 I3.0 W3.0 F0.1 I0.0 W0.0 F3.1 I3.1 W3.1      I0.1 W0.1
//        F1.0 F2.0           I2.0 I1.0 F1.1 F2.1 W2.0 W1.0 I2.1 I1.1 W2.1 W1.1
[[nodiscard]] Schedule v_half(int ranks, int micro_batches);
[[nodiscard]] Schedule v_min(int ranks, int micro_batches);

// DualPipeV (arXiv:2412.19437, folded to a V): two stages per rank, placed as in zb_v(); a rank
// takes forwards and backwards of its two stages in turn. The peak stash is 2p + 1 micro-batches of
// one stage (half of a rank's layers) on every rank for m >= 2p. The bubble is (p - 1) T_F / 2 when
// T_F = T_I = T_W.
//   F0.0 F0.1      F3.0 I3.0 W3.0 F3.1 B3.1===== B0.0=====           B0.1=====
//        F1.0 F2.0 F1.1 F2.1 B2.0===== B1.0===== B2.1===== B1.1=====
[[nodiscard]] Schedule dualpipe_v(int ranks, int micro_batches);

// Schedules for evaluation: forwards only, no backward. The first form has one stage per rank. The
// second form leaves the backwards out of a training schedule: each rank keeps its stages and the
// order of its forwards.
[[nodiscard]] Schedule forward_only(int stages, int micro_batches);
[[nodiscard]] Schedule forward_only(const Schedule& training);

}  // namespace penstock
