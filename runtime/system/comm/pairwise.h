// runtime/system/comm/pairwise.h -- adds values of replicas up in one order, the same on every
// device and for every number of replicas: in pairs, (x0 + x1) + (x2 + x3), then pairs of pairs. A
// sum without a partner waits: five are ((x0 + x1) + (x2 + x3)) + x4. So replicas with a power of
// two of micro-batches each, which were added up in pairs too
// (runtime/network/stage/pairwise_sum.h), make the sum that one replica makes.
#pragma once

#include <span>

namespace penstock {

// A sum, in registers, of values that arrive one after another. For kernels too.
template <class T>
class PairwiseSumOf {
 public:
  constexpr void add(T value) {
    for (unsigned n = count_; (n & 1U) != 0; n >>= 1U) value = waiting_[--depth_] + value;
    waiting_[depth_++] = value;
    ++count_;
  }
  // The sum; at least one value must have been added.
  [[nodiscard]] constexpr T total() const {
    T sum = waiting_[depth_ - 1];
    for (int i = depth_ - 2; i >= 0; --i) sum = waiting_[i] + sum;
    return sum;
  }

 private:
  T waiting_[32] = {};  // sums of 2^n values, with n smaller from one to the next
  int depth_ = 0;
  unsigned count_ = 0;
};

// The sum of the values; 0 if there are none.
template <class T>
[[nodiscard]] constexpr T pairwise_sum(std::span<const T> values) {
  PairwiseSumOf<T> sum;
  for (T value : values) sum.add(value);
  return values.empty() ? T{} : sum.total();
}

}  // namespace penstock
