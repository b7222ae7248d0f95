// kernels/ops/experts.h -- mixtures of experts (Shazeer et al. 2017): which experts a row goes to,
// the rows in the order of the experts, and the products of each expert with its own rows.
//
// A row is all that shares the leading axes: a token. There are r rows, E experts, and k experts a
// row; the k places of a row are its slots, slot j of row i being number i k + j. Every size below
// is known without the routing, so a step that routes differently takes the same memory: only the
// numbers in Routing::offsets vary, and kernels read them where they lie.
#pragma once

#include "kernels/tensor.h"
#include "kernels/weight.h"

namespace penstock {

enum class RouterScore : uint8_t { Softmax, Sigmoid };

// How a router chooses. The scores of a row are the softmax of its logits, or the sigmoid of each.
struct Router {
  RouterScore score = RouterScore::Softmax;
  bool normalised = true;  // the weights of a row's experts are divided by their sum
  float scale = 1.0F;      // the weights, divided or not, are multiplied by it
  // The experts are so many groups of neighbours, and a row goes to experts of `chosen_groups` of
  // them alone: those in which the two largest scores have the largest sums (DeepSeek-V3, 2024).
  int32_t groups = 1, chosen_groups = 1;
  // What route_backward() adds for the auxiliary losses, of these rows, whose gradients it scales
  // by these factors; 0: no such loss. Both take p, the softmax of the logits.
  //   balance (Fedus et al. 2021): E sum over e of (rows that chose e) * mean of p_e over the rows
  //   z       (Zoph et al. 2022):  the sum over the rows of logsumexp(logits)^2
  float balance = 0.0F, z = 0.0F;
};

inline constexpr int64_t kMostExpertGroups = 64;

// A routing says where rows go; all its tensors are I32.
struct Routing {
  Tensor chosen;   // [r, k]: the experts of each row, ascending
  Tensor order;    // [r k]: the slots, sorted by expert, those of one expert by row
  Tensor places;   // [r k]: places[order[i]] = i
  Tensor offsets;  // [E + 1]: expert e has the places from offsets[e] up to offsets[e + 1]
};

class ExpertOps {
 public:
  virtual ~ExpertOps() = default;

  // Each row goes to the k experts with the largest scores, of equals to those with lower numbers.
  // `correction` [E] is added to the scores for this choice, and for that of groups, alone; empty:
  // nothing is. weights[r, k] are their scores, as `router` has them. logits are [r, E]; all of
  // these are fp32.
  virtual void route(const Routing& routing, Tensor& weights, const Tensor& logits,
                     const Tensor& correction, const Router& router) = 0;
  // dlogits[r, E] of the weights' gradients dweights[r, k], with what Router adds.
  virtual void route_backward(Tensor& dlogits, const Tensor& dweights, const Tensor& weights,
                              const Tensor& logits, const Routing& routing,
                              const Router& router) = 0;

  // counts[e] += the number of slots of expert e. counts[E] are fp32, which has the integers up to
  // 2^24: sums below that are exact, in whatever order they are made.
  virtual void count_slots(Tensor& counts, const Tensor& offsets) = 0;
  // correction[e] += rate sign(mean of all counts - counts[e]), both fp32 [E] (Wang et al. 2024,
  // "Auxiliary-Loss-Free Load Balancing"). The sign is that of the exact difference, and 0 of 0.
  virtual void balance(Tensor& correction, const Tensor& counts, float rate) = 0;

  // y[r k, width]: y[i] is the row of x[r, width] that slot order[i] belongs to.
  virtual void gather(Tensor& y, const Tensor& x, const Routing& routing) = 0;
  // dx[r, width]: the sum of the rows of g[r k, width] that came from each, in the experts' order.
  virtual void gather_backward(Tensor& dx, const Tensor& g, const Routing& routing) = 0;
  // y[r, width]: the sum of the rows of x[r k, width] that belong to each row, times their weights,
  // in the experts' order.
  virtual void combine(Tensor& y, const Tensor& x, const Tensor& weights,
                       const Routing& routing) = 0;
  virtual void combine_backward(Tensor& dx, Tensor& dweights, const Tensor& g, const Tensor& x,
                                const Tensor& weights, const Routing& routing) = 0;

  // y[i, out] = x[i, in] w[e, out, in]^T for the rows i of each expert e. x and y share one dtype;
  // w is fp32, and read as a linear layer reads its weight, or of that dtype. Sums are in fp32. The
  // bits of a row of y depend on that row of x and on w alone.
  virtual void grouped_forward(Tensor& y, const Tensor& x, Weight& w, const Tensor& offsets) = 0;
  // dx[i, in] = g[i, out] w[e, out, in]
  virtual void grouped_backward_input(Tensor& dx, const Tensor& g, Weight& w,
                                      const Tensor& offsets) = 0;
  // dw[e, out, in] = (accumulate ? dw : 0) + g^T x of the expert's rows; dw is fp32.
  virtual void grouped_backward_weight(Tensor& dw, const Tensor& x, const Tensor& g,
                                       const Tensor& offsets, bool accumulate) = 0;

  // y[i] += bias[e] for the rows i of each expert e; y is [r k, out], bias fp32 [E, out].
  virtual void add_expert_bias(Tensor& y, const Tensor& bias, const Tensor& offsets) = 0;
  // dbias[e] += the sum of the rows of g of each expert e, in their order.
  virtual void expert_bias_backward(Tensor& dbias, const Tensor& g, const Tensor& offsets) = 0;

  // y[r, width] = sigmoid(gate[r]) x[r, width]
  virtual void gate_rows(Tensor& y, const Tensor& x, const Tensor& gate) = 0;
  virtual void gate_rows_backward(Tensor& dx, Tensor& dgate, const Tensor& g, const Tensor& x,
                                  const Tensor& gate) = 0;
};

}  // namespace penstock
