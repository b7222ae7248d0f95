#include "runtime/stage/initial_values.h"

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/philox.h"

namespace penstock {
namespace {

// Four normal numbers from four words (Box & Muller 1958).
std::array<float, 4> normals(const std::array<uint32_t, 4>& words) {
  std::array<float, 4> out{};
  for (size_t pair = 0; pair < 2; ++pair) {
    const double u = 1.0 - static_cast<double>(uniform_of(words[2 * pair]));  // (0, 1]
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

std::vector<float> initial_values(const Parameter& parameter, uint64_t seed) {
  std::vector<float> values(static_cast<size_t>(parameter.elements()));
  const Initializer& init = parameter.init;
  if (init.kind == Initializer::Kind::Zeros) return values;
  if (init.kind == Initializer::Kind::Ones) {
    values.assign(values.size(), 1.0F);
    return values;
  }
  const RandomStream stream = random_stream(seed, hash_name(parameter.name));
  constexpr size_t kWorthThreads = size_t{1} << 20;
  const size_t size = values.size();
  // Every number is a function of its index: threads change none.
#pragma omp parallel for schedule(static) if (size > kWorthThreads)
  for (size_t i = 0; i < size; i += 4) {
    const auto words = philox(stream, i / 4);
    const auto four = init.kind == Initializer::Kind::Normal ? normals(words) : uniforms(words);
    for (size_t j = 0; j < 4 && i + j < size; ++j) values[i + j] = init.scale * four[j];
  }
  return values;
}

}  // namespace

void fill_initial_values(Parameter& parameter, uint64_t seed, Device& device) {
  if (!device.holds_values()) return;
  const std::vector<float> values = initial_values(parameter, seed);
  Tensor target = parameter.weight.value();
  device.copy_from_host(target, values.data(), values.size() * sizeof(float));
  parameter.weight.changed();
}

}  // namespace penstock
