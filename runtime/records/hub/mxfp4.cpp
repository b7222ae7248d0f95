#include "runtime/records/hub/mxfp4.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr int64_t kBlock = 32;                          // numbers with one scale
constexpr size_t kBlockBytes = 16;                      // of them
constexpr size_t kBlocksAtOnceBytes = size_t{1} << 20;  // of blocks that are read at a time
constexpr int kNoNumber = 255, kExponentBias = 127;     // of a scale
constexpr std::array<float, 16> kNumbers = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                            -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

void check_half(const Mxfp4Tensor::Half& half, const std::vector<int64_t>& wanted) {
  const TensorInfo* info = half.file->find(half.name);
  if (info == nullptr) {
    fail_data(half.file->path() + " lacks the tensor " + quoted(half.name) +
              ", which the index places there");
  }
  if (info->dtype != "U8") {
    fail_input(half.file->path() + ": tensor " + quoted(half.name) + " is of type " + info->dtype +
               ", but MXFP4 is kept as U8: this form of weights is not supported");
  }
  if (info->shape == wanted) return;
  fail_input(half.file->path() + ": tensor " + quoted(half.name) + " is " +
             shape_text(info->shape) + ", but config.json makes it " + shape_text(wanted) +
             ": do they belong together?");
}

// What a block is multiplied by. 0: nothing that gives numbers.
float factor_of(std::byte scale) {
  const auto exponent = std::to_integer<int>(scale);
  if (exponent == kNoNumber) return 0.0F;
  const float factor = std::ldexp(1.0F, exponent - kExponentBias);
  return std::isfinite(kNumbers[7] * factor) ? factor : 0.0F;
}

template <class T>
void read_matrix(const Mxfp4Tensor& tensor, const HubPlace& place, int64_t rows, std::span<T> to) {
  const auto parts = static_cast<size_t>(place.parts / place.experts);
  const auto part = static_cast<size_t>(place.part);
  const auto all = static_cast<size_t>(rows) * parts;  // rows of an expert in the file
  const size_t columns = to.size() / static_cast<size_t>(rows);
  const size_t blocks = columns / kBlock;  // of a row
  const size_t first = part / parts * all;
  const size_t most =
      std::max<size_t>(1, kBlocksAtOnceBytes / (blocks * kBlockBytes) / parts) * parts;
  std::vector<std::byte> bytes(std::min(most, all) * blocks * kBlockBytes);
  std::vector<std::byte> scales(std::min(most, all) * blocks);
  for (size_t begin = 0; begin < all; begin += most) {
    const size_t count = std::min(most, all - begin);
    tensor.blocks.file->read(tensor.blocks.name, (first + begin) * blocks * kBlockBytes,
                             std::span(bytes).first(count * blocks * kBlockBytes));
    tensor.scales.file->read(tensor.scales.name, (first + begin) * blocks,
                             std::span(scales).first(count * blocks));
    for (size_t row = part % parts; row < count; row += parts) {
      T* line = to.data() + (begin + row) / parts * columns;
      for (size_t block = 0; block < blocks; ++block) {
        const float factor = factor_of(scales[row * blocks + block]);
        if (factor == 0.0F) {
          fail_data(tensor.scales.file->path() + ": tensor " + quoted(tensor.scales.name) +
                    " has a scale of " +
                    std::to_string(std::to_integer<int>(scales[row * blocks + block])) +
                    ", which gives no numbers: download it again");
        }
        const std::byte* pairs = bytes.data() + (row * blocks + block) * kBlockBytes;
        for (size_t i = 0; i < kBlockBytes; ++i) {
          const auto pair = std::to_integer<size_t>(pairs[i]);
          *line++ = static_cast<T>(factor * kNumbers[pair & 15U]);
          *line++ = static_cast<T>(factor * kNumbers[pair >> 4U]);
        }
      }
    }
  }
}

}  // namespace

void check_mxfp4(const Mxfp4Tensor& tensor, const HubPlace& place,
                 const std::vector<int64_t>& ours) {
  if (ours.back() % kBlock != 0) {
    fail_input(tensor.blocks.file->path() + ": tensor " + quoted(tensor.blocks.name) +
               " is in blocks of 32, which do not divide the " + std::to_string(ours.back()) +
               " columns of config.json: do they belong together?");
  }
  const int64_t rows = ours.front() * (place.parts / place.experts);
  std::vector<int64_t> shape = {place.experts, rows, ours.back() / kBlock};
  check_half(tensor.scales, shape);
  shape.push_back(kBlockBytes);
  check_half(tensor.blocks, shape);
}

void read_mxfp4(const Mxfp4Tensor& tensor, const HubPlace& place, int64_t rows,
                std::span<float> to) {
  read_matrix(tensor, place, rows, to);
}
void read_mxfp4(const Mxfp4Tensor& tensor, const HubPlace& place, int64_t rows,
                std::span<bfloat16> to) {
  read_matrix(tensor, place, rows, to);
}

}  // namespace penstock
