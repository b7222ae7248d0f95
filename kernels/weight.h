// kernels/weight.h -- Weight: a matrix or filter that many calls read between two updates.
//
// The value is fp32, in the layout users see: [out, in] of a matrix, [out, in / groups, kh, kw] of
// a filter. A kernel that is faster on another layout, or computes in bf16, keeps a copy here in
// the layout and type that it reads: a form. It makes the form once after each update and not once
// per micro-batch. The memory of forms is charged to Purpose::Workspace. With one micro-batch a
// step, a form that only one kind of call reads need not be kept: is_read_once(). The value of a
// matrix that is never updated may be bf16, for linear layers that compute in bf16 and read it
// without a form.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/tensor.h"

namespace penstock {

class Weight {
 public:
  Weight() = default;
  explicit Weight(Tensor value) : value_(std::move(value)) {}

  [[nodiscard]] const Tensor& value() const { return value_; }
  [[nodiscard]] const Shape& shape() const { return value_.shape(); }
  // A second Weight with the same elements, and forms of its own.
  [[nodiscard]] Weight shared() const {
    Weight other(value_);
    other.version_ = version_;
    other.read_once_ = read_once_;
    return other;
  }
  // Must be called after the elements were overwritten: makes all forms stale, also the
  // forms of weights that share the elements.
  void changed() { ++*version_; }

  // Says that each kind of call reads the weight once, or seldom more often, between two changes. A
  // kernel may then make a form for one call and not keep it, where no other kind of call reads
  // that form. Changes no result.
  void read_once() { read_once_ = true; }
  [[nodiscard]] bool is_read_once() const { return read_once_; }

  // One form. `key` is a number that the device's kernels choose for a layout.
  struct Packing {
    uint64_t key = 0;
    uint64_t version = 0;  // version() of the value from which `packed` was made; 0: not yet made
    Tensor packed;
  };
  // The form of that key; at first its `packed` is empty. Where its `version` is not version(), it
  // is stale: the caller must make `packed` anew from value() and set `version` to version(). The
  // reference is valid until packing() is called with a new key.
  Packing& packing(uint64_t key) {
    for (Packing& f : packings_) {
      if (f.key == key) return f;
    }
    return packings_.emplace_back(Packing{key, 0, {}});
  }
  // Counts the changes, from 1.
  [[nodiscard]] uint64_t version() const { return *version_; }

 private:
  Tensor value_;
  std::shared_ptr<uint64_t> version_ = std::make_shared<uint64_t>(1);
  std::vector<Packing> packings_;
  bool read_once_ = false;
};

}  // namespace penstock
