#include "runtime/network/stage/initial_values.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "kernels/bfloat16.h"
#include "kernels/parallel.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

constexpr int64_t kPieceElements = int64_t{4} << 20;

// Returns four normally distributed numbers, made from four random words (Box & Muller 1958).
std::array<float, 4> normals(const std::array<uint32_t, 4>& words) {
  std::array<float, 4> out{};
  for (size_t pair = 0; pair < 2; ++pair) {
    const double u = 1.0 - static_cast<double>(uniform_of(words[2 * pair]));  // in (0, 1], never 0
    const double radius = std::sqrt(-2.0 * std::log(u));
    const double angle =
        2.0 * std::numbers::pi * static_cast<double>(uniform_of(words[2 * pair + 1]));
    out[2 * pair] = static_cast<float>(radius * std::cos(angle));
    out[2 * pair + 1] = static_cast<float>(radius * std::sin(angle));
  }
  return out;
}

std::array<float, 4> uniforms(const std::array<uint32_t, 4>& words) {
  std::array<float, 4> out{};
  for (size_t i = 0; i < 4; ++i) out[i] = 2.0F * uniform_of(words[i]) - 1.0F;
  return out;
}

// Writes the parameter's first values, from element `first` on. `first` is a multiple of four:
// numbers are drawn four at a time.
void draw(const Initializer& init, const RandomStream& stream, size_t first, std::span<float> to) {
  if (init.kind == Initializer::Kind::Zeros || init.kind == Initializer::Kind::Ones) {
    std::fill(to.begin(), to.end(), init.kind == Initializer::Kind::Ones ? 1.0F : 0.0F);
    return;
  }
  constexpr size_t kWorthThreads = size_t{1} << 20;
  const size_t size = to.size();
  // Every number is a function of its index, so the number of threads changes none.
  const auto draw_four = [&](size_t i) {
    const auto words = philox(stream, (first + i) / 4);
    const auto four = init.kind == Initializer::Kind::Normal ? normals(words) : uniforms(words);
    for (size_t j = 0; j < 4 && i + j < size; ++j) to[i + j] = init.scale * four[j];
  };
  const int threads = size > kWorthThreads ? omp_get_max_threads() : 1;
  share_out(threads, static_cast<int64_t>((size + 3) / 4), [&](int64_t begin, int64_t end) {
    for (int64_t four = begin; four < end; ++four) draw_four(4 * static_cast<size_t>(four));
  });
}

// Copies the numbers, which have the type of `target`, to its elements from `first` on.
template <class T>
void copy_piece(const Tensor& target, int64_t first, std::span<const T> numbers, Device& device) {
  Tensor part = target.view(first, Shape{static_cast<int64_t>(numbers.size())});
  if (device.host_addressable()) {
    std::copy(numbers.begin(), numbers.end(), part.data<T>());
  } else {
    device.copy_from_host(part, numbers.data(), numbers.size_bytes());
    device.synchronize();  // the caller frees or overwrites the numbers
  }
}

}  // namespace

void fill_initial_values(Parameter& parameter, uint64_t seed, Device& device) {
  if (!device.holds_values()) return;
  const RandomStream stream = random_stream(seed, hash_name(parameter.name));
  Tensor target = parameter.weight.value();
  if (device.host_addressable() && target.dtype() == DType::F32) {
    draw(parameter.init, stream, 0, target.span<float>());
    return parameter.weight.changed();
  }
  // The numbers are drawn in pieces, since a table of words can be larger than all else that the
  // host holds.
  std::vector<float> piece(static_cast<size_t>(std::min(kPieceElements, target.elements())));
  for (int64_t first = 0; first < target.elements(); first += kPieceElements) {
    const int64_t count = std::min(kPieceElements, target.elements() - first);
    const auto numbers = std::span(piece).first(static_cast<size_t>(count));
    draw(parameter.init, stream, static_cast<size_t>(first), numbers);
    if (target.dtype() == DType::BF16) {
      const std::vector<bfloat16> rounded(numbers.begin(), numbers.end());
      copy_piece<bfloat16>(target, first, rounded, device);
    } else {
      copy_piece<float>(target, first, numbers, device);
    }
  }
  parameter.weight.changed();
}

}  // namespace penstock
