#include "tests/host_cuda/reduction.h"

#include <algorithm>
#include <cstdint>

#include "tests/host_cuda/element.h"

namespace penstock::host_cuda {
namespace {

constexpr size_t kSegment = 32;  // elements

template <class T>
T combined(T a, T b, ncclRedOp_t op) {
  if (op == ncclMax) return std::max(a, b);
  if (op == ncclMin) return std::min(a, b);
  return a + b;
}

// `at(member, i)` reads, `put(i, value)` writes.
template <class At, class Put>
void reduce_elements(size_t count, int members, ncclRedOp_t op, const At& at, const Put& put) {
  const auto all = static_cast<size_t>(members);
  for (size_t i = 0; i < count; ++i) {
    const size_t first = i / kSegment % all;
    auto value = at(first, i);
    for (size_t m = 1; m < all; ++m) value = combined(value, at((first + m) % all, i), op);
    put(i, value);
  }
}

template <class T>
void reduce_as(void* to, const std::byte* copies, size_t count, int members, ncclRedOp_t op) {
  const auto* values = reinterpret_cast<const T*>(copies);
  reduce_elements(
      count, members, op, [&](size_t member, size_t i) { return values[member * count + i]; },
      [&](size_t i, T value) { static_cast<T*>(to)[i] = value; });
}

}  // namespace

size_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 4;
  }
}

bool can_reduce(ncclDataType_t type, ncclRedOp_t op) {
  const bool known = type == ncclFloat32 || type == ncclFloat64 || type == ncclBfloat16 ||
                     type == ncclInt32 || type == ncclInt64;
  return known && (op == ncclSum || op == ncclMax || op == ncclMin);
}

void reduce(void* to, const std::byte* copies, size_t count, int members, ncclDataType_t type,
            ncclRedOp_t op) {
  switch (type) {
    case ncclFloat32:
      return reduce_as<float>(to, copies, count, members, op);
    case ncclFloat64:
      return reduce_as<double>(to, copies, count, members, op);
    case ncclInt32:
      return reduce_as<int32_t>(to, copies, count, members, op);
    case ncclInt64:
      return reduce_as<int64_t>(to, copies, count, members, op);
    default:  // bf16, rounded once
      return reduce_elements(
          count, members, op,
          [&](size_t member, size_t i) {
            return load(Element::Bfloat16, copies, static_cast<int64_t>(member * count + i));
          },
          [&](size_t i, float value) {
            store(Element::Bfloat16, to, static_cast<int64_t>(i), value);
          });
  }
}

}  // namespace penstock::host_cuda
