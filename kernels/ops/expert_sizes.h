// kernels/ops/expert_sizes.h -- the sizes of a mixture of experts, from the tensors of an op, which
// are checked. Private to kernels.
#pragma once

#include "kernels/checks.h"
#include "kernels/ops/experts.h"

namespace penstock {

struct RoutingSizes {
  int64_t rows, chosen, experts;  // r, k and E
  [[nodiscard]] int64_t slots() const { return rows * chosen; }
};
[[nodiscard]] inline RoutingSizes routing_sizes(const char* op, const Routing& routing) {
  const RoutingSizes sizes{routing.chosen.dim(0), routing.chosen.dim(1),
                           routing.offsets.elements() - 1};
  require_elements(op, routing.order, sizes.slots());
  require_elements(op, routing.places, sizes.slots());
  if (sizes.chosen < 1 || sizes.chosen > sizes.experts) {
    fail_internal(std::string(op) + ": " + std::to_string(sizes.chosen) + " of " +
                  std::to_string(sizes.experts) + " experts are asked for");
  }
  return sizes;
}

// routing_sizes() of a router's op, whose logits [r, E] and weights [r, k], or the gradients of
// these, are checked, too.
[[nodiscard]] inline RoutingSizes router_sizes(const char* op, const Routing& routing,
                                               const Tensor& logits, const Tensor& weights,
                                               const Router& router) {
  const RoutingSizes sizes = routing_sizes(op, routing);
  if (router.groups < 1 || router.groups > kMostExpertGroups ||
      sizes.experts % router.groups != 0 || router.chosen_groups < 1 ||
      router.chosen_groups > router.groups) {
    fail_internal(std::string(op) + ": " + std::to_string(router.chosen_groups) + " of " +
                  std::to_string(router.groups) + " groups of " + std::to_string(sizes.experts) +
                  " experts are asked for");
  }
  require_elements(op, logits, sizes.rows * sizes.experts);
  require_elements(op, weights, sizes.slots());
  return sizes;
}

// Returns the number of experts.
[[nodiscard]] inline int64_t counted_experts(const char* op, const Tensor& counts,
                                             const Tensor& offsets) {
  require_elements(op, counts, offsets.elements() - 1);
  return counts.elements();
}

// The tensors of a gather or combine: `few` has a row for each row, `many` one for each slot.
// Returns their width.
[[nodiscard]] inline int64_t slot_width(const char* op, const RoutingSizes& sizes,
                                        const Tensor& few, const Tensor& many) {
  const int64_t width = few.shape().back();
  require_elements(op, few, sizes.rows * width);
  require_elements(op, many, sizes.slots() * width);
  if (few.dtype() != many.dtype()) fail_internal(std::string(op) + ": its tensors differ in type");
  return width;
}

// A grouped product, of weights [experts, out, in].
struct GroupedSizes {
  int64_t rows, in, out, experts;
};
// `x` has the inputs, `y` the outputs, or the gradients of these.
[[nodiscard]] inline GroupedSizes grouped_sizes(const char* op, const Tensor& y, const Tensor& x,
                                                const Tensor& w, const Tensor& offsets) {
  const GroupedSizes sizes{x.shape().rows(), w.dim(2), w.dim(1), w.dim(0)};
  require_elements(op, x, sizes.rows * sizes.in);
  require_elements(op, y, sizes.rows * sizes.out);
  require_elements(op, offsets, sizes.experts + 1);
  if (x.dtype() != y.dtype()) fail_internal(std::string(op) + ": its tensors differ in type");
  return sizes;
}

// The tensors of a bias of experts. Returns the width of a row.
[[nodiscard]] inline int64_t expert_bias_width(const char* op, const Tensor& rows,
                                               const Tensor& bias, const Tensor& offsets) {
  const int64_t width = rows.shape().back();
  require_elements(op, bias, (offsets.elements() - 1) * width);
  return width;
}

}  // namespace penstock
