#include "runtime/records/checkpoint/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <span>

#include "kernels/bfloat16.h"

namespace penstock {
namespace {

// Tensors are compared in pieces of this many bytes, which is a multiple of the width of every
// type.
constexpr uint64_t kPieceOfTensor = uint64_t{4} << 20;

using StoredByName = std::map<std::string, TensorInfo>;

StoredByName all_tensors(const CheckpointReader& reader) {
  StoredByName all;
  for (const auto& list : {reader.model(), reader.optimizer()}) {
    for (const CheckpointReader::Stored& stored : list) all[stored.tensor.name] = stored.tensor;
  }
  return all;
}

std::string form_of(const TensorInfo& tensor) {
  std::string text = tensor.dtype + " [";
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(tensor.shape[i]);
  }
  return text + "]";
}

template <class T>
void compare_elements(std::span<const std::byte> a, std::span<const std::byte> b,
                      TensorDifference& difference) {
  for (size_t at = 0; at + sizeof(T) <= a.size(); at += sizeof(T)) {
    if (std::memcmp(&a[at], &b[at], sizeof(T)) == 0) continue;
    T x{};
    T y{};
    std::memcpy(&x, &a[at], sizeof(T));
    std::memcpy(&y, &b[at], sizeof(T));
    const double gap = std::abs(static_cast<double>(x) - static_cast<double>(y));
    ++difference.elements;
    const bool comparable = std::isfinite(gap) && std::isfinite(difference.largest);
    difference.largest =
        comparable ? std::max(difference.largest, gap) : std::numeric_limits<double>::quiet_NaN();
  }
}

void compare_bytes(std::span<const std::byte> a, std::span<const std::byte> b, uint64_t width,
                   TensorDifference& difference) {
  difference.largest = std::numeric_limits<double>::quiet_NaN();
  for (size_t at = 0; at + width <= a.size(); at += width) {
    difference.elements += std::memcmp(&a[at], &b[at], width) != 0 ? 1 : 0;
  }
}

void compare_pieces(const TensorInfo& tensor, std::span<const std::byte> a,
                    std::span<const std::byte> b, TensorDifference& difference) {
  if (std::memcmp(a.data(), b.data(), a.size()) == 0) return;
  if (tensor.dtype == "F32") return compare_elements<float>(a, b, difference);
  if (tensor.dtype == "F64") return compare_elements<double>(a, b, difference);
  if (tensor.dtype == "I32") return compare_elements<int32_t>(a, b, difference);
  if (tensor.dtype == "BF16") return compare_elements<bfloat16>(a, b, difference);
  uint64_t elements = 1;
  for (const int64_t extent : tensor.shape) elements *= static_cast<uint64_t>(extent);
  compare_bytes(a, b, std::max<uint64_t>(tensor.size_bytes() / elements, 1), difference);
}

TensorDifference compare_tensor(const TensorInfo& tensor, CheckpointReader& first,
                                CheckpointReader& second) {
  TensorDifference difference{.name = tensor.name, .first = form_of(tensor), .second = {}};
  difference.second = difference.first;
  std::vector<std::byte> a;
  std::vector<std::byte> b;
  for (uint64_t at = 0; at < tensor.size_bytes(); at += kPieceOfTensor) {
    const uint64_t size = std::min(kPieceOfTensor, tensor.size_bytes() - at);
    a.resize(size);
    b.resize(size);
    first.read(tensor.name, at, a);
    second.read(tensor.name, at, b);
    compare_pieces(tensor, a, b, difference);
  }
  return difference;
}

}  // namespace

std::vector<TensorDifference> compare_checkpoints(CheckpointReader& first,
                                                  CheckpointReader& second) {
  const StoredByName in_first = all_tensors(first);
  const StoredByName in_second = all_tensors(second);
  std::vector<TensorDifference> differences;
  for (const auto& [name, tensor] : in_first) {
    const auto found = in_second.find(name);
    const std::string other = found == in_second.end() ? "" : form_of(found->second);
    if (other != form_of(tensor)) {
      differences.push_back({.name = name, .first = form_of(tensor), .second = other});
      continue;
    }
    TensorDifference difference = compare_tensor(tensor, first, second);
    if (difference.elements > 0) differences.push_back(std::move(difference));
  }
  for (const auto& [name, tensor] : in_second) {
    if (!in_first.contains(name)) {
      differences.push_back({.name = name, .first = "", .second = form_of(tensor)});
    }
  }
  std::sort(differences.begin(), differences.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return differences;
}

}  // namespace penstock
