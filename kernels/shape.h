// kernels/shape.h -- Shape and DType: what a tensor looks like, without its bytes. Header only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "kernels/error.h"

namespace penstock {

enum class DType : uint8_t { F32, BF16, F64, I32, U8 };

// Bytes of one element.
[[nodiscard]] constexpr size_t size_of(DType type) {
  switch (type) {
    case DType::F64:
      return 8;
    case DType::F32:
    case DType::I32:
      return 4;
    case DType::BF16:
      return 2;
    case DType::U8:
      return 1;
  }
  return 0;
}

[[nodiscard]] constexpr const char* name_of(DType type) {
  switch (type) {
    case DType::F32:
      return "fp32";
    case DType::BF16:
      return "bf16";
    case DType::F64:
      return "fp64";
    case DType::I32:
      return "int32";
    case DType::U8:
      return "uint8";
  }
  return "?";
}

// The most elements that a tensor, and all parameters of a network, may have: 4 PiB in fp32.
inline constexpr int64_t kMostElements = int64_t{1} << 50;
// Throws Error(Input): `what` has more than kMostElements.
[[noreturn]] inline void fail_too_large(const std::string& what) {
  fail_input(what +
             " has more than 2^50 numbers, which no machine holds: make the sizes of the network "
             "([model]), or --micro-batch-size, smaller");
}

// The extents of a tensor's axes, outermost first; the memory is dense and row-major. There are at
// most kMaxRank axes; a shape without axes is a scalar. Throws Error(Internal) for more axes, for a
// negative extent, and where an axis is asked for that does not exist.
class Shape {
 public:
  static constexpr int kMaxRank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) { assign({extents.begin(), extents.size()}); }
  explicit Shape(std::span<const int64_t> extents) { assign(extents); }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int64_t operator[](int axis) const { return extents_[checked(axis)]; }
  int64_t& operator[](int axis) { return extents_[checked(axis)]; }
  // The last extent.
  [[nodiscard]] int64_t back() const { return (*this)[rank_ - 1]; }
  [[nodiscard]] std::span<const int64_t> extents() const {
    return {extents_.data(), static_cast<size_t>(rank_)};
  }
  // The product of the extents; 1 without axes. Throws Error(Input) where it is above
  // kMostElements, so that bytes and sums of a thousand tensors stay far inside 64 bits.
  [[nodiscard]] int64_t elements() const {
    int64_t n = 1;
    for (int64_t extent : extents()) {
      // A product of factors up to 2^63 is exact enough to compare, and does not wrap round.
      const double product = static_cast<double>(n) * static_cast<double>(extent);
      if (product > static_cast<double>(kMostElements)) fail_too_large("a tensor " + text());
      n *= extent;
    }
    return n;
  }
  // The number of elements of all axes but the last: the rows of the matrix that a linear layer
  // sees.
  [[nodiscard]] int64_t rows() const { return back() == 0 ? 0 : elements() / back(); }

  bool operator==(const Shape& other) const {
    return rank_ == other.rank_ && extents_ == other.extents_;
  }

  // "[8, 64, 128]"
  [[nodiscard]] std::string text() const {
    std::string s = "[";
    for (int i = 0; i < rank_; ++i) s += (i > 0 ? ", " : "") + std::to_string((*this)[i]);
    return s + "]";
  }

 private:
  void assign(std::span<const int64_t> extents) {
    if (extents.size() > kMaxRank) fail_internal("a shape has more than 6 axes");
    for (int64_t extent : extents) {
      if (extent < 0) fail_internal("a shape has a negative extent");
      extents_[static_cast<size_t>(rank_++)] = extent;
    }
  }
  [[nodiscard]] size_t checked(int axis) const {
    if (axis < 0 || axis >= rank_) {
      fail_internal("axis " + std::to_string(axis) + " of shape " + text() + " does not exist");
    }
    return static_cast<size_t>(axis);
  }

  std::array<int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

}  // namespace penstock
