// kernels/tensor.h -- Tensor: a counted reference to a dense, row-major array on one device.
//
// Copying a Tensor copies the reference, not the elements; the memory returns to its device's cache
// with the last reference. A Tensor is not a matrix library: all arithmetic is in kernels/ops.
// Images are channels-last: [n, height, width, channels].
#pragma once

#include <span>
#include <utility>

#include "kernels/memory/memory.h"
#include "kernels/shape.h"

namespace penstock {

struct bfloat16;  // kernels/bfloat16.h

// The DType of an element type of C++.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::F32;
};
template <>
struct DTypeOf<bfloat16> {
  static constexpr DType value = DType::BF16;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::F64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::I32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::U8;
};

class Tensor {
 public:
  Tensor() = default;
  // Takes over the one reference that Memory::take returned.
  Tensor(Block* block, const Shape& shape, DType dtype)
      : block_(block), data_(block->data), shape_(shape), dtype_(dtype) {}

  Tensor(const Tensor& other)
      : block_(other.block_), data_(other.data_), shape_(other.shape_), dtype_(other.dtype_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        shape_(other.shape_),
        dtype_(other.dtype_) {}
  Tensor& operator=(Tensor other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(shape_, other.shape_);
    std::swap(dtype_, other.dtype_);
    return *this;
  }
  ~Tensor() { reset(); }

  // Gives up the reference: the tensor is empty then.
  void reset() noexcept {
    Block* block = std::exchange(block_, nullptr);
    data_ = nullptr;
    if (block != nullptr && block->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      block->memory->put_back(block);
    }
  }

  // False where it is empty: it refers to no memory.
  explicit operator bool() const { return block_ != nullptr; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int64_t dim(int axis) const { return shape_[axis]; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] int64_t elements() const { return shape_.elements(); }
  [[nodiscard]] size_t size_bytes() const {
    return static_cast<size_t>(elements()) * size_of(dtype_);
  }
  // True when no other Tensor (view or copy) sees this memory: it may be overwritten or reused.
  [[nodiscard]] bool unique() const {
    return block_ != nullptr && block_->references.load(std::memory_order_acquire) == 1;
  }

  // Device address of the first element; const here is shallow, as for any reference.
  [[nodiscard]] void* raw() const { return data_; }
  // Typed address. A T that is not the type of the elements is a bug of ours: throws
  // Error(Internal), as reshaped() and view() do for a shape that does not fit.
  template <class T>
  [[nodiscard]] T* data() const {
    using Element = std::remove_const_t<T>;
    if (dtype_ != DTypeOf<Element>::value) {
      fail_internal(std::string("a ") + name_of(dtype_) + " tensor " + shape_.text() +
                    " was read as " + name_of(DTypeOf<Element>::value));
    }
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  [[nodiscard]] std::span<T> span() const {
    return {data<T>(), static_cast<size_t>(elements())};
  }

  // The same elements under another shape; the element counts must agree.
  [[nodiscard]] Tensor reshaped(const Shape& shape) const {
    if (shape.elements() != elements()) {
      fail_internal("cannot see " + shape_.text() + " as " + shape.text());
    }
    Tensor view = *this;
    view.shape_ = shape;
    return view;
  }
  // A view of `shape` that starts `first` elements into this tensor.
  [[nodiscard]] Tensor view(int64_t first, const Shape& shape) const {
    if (first < 0 || first + shape.elements() > elements()) {
      fail_internal("a view of " + shape.text() + " leaves its tensor " + shape_.text());
    }
    Tensor part = *this;
    part.data_ += static_cast<size_t>(first) * size_of(dtype_);
    part.shape_ = shape;
    return part;
  }

 private:
  Block* block_ = nullptr;
  std::byte* data_ = nullptr;
  Shape shape_;
  DType dtype_ = DType::F32;
};

}  // namespace penstock
