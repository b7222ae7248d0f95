// kernels/philox.h -- Philox4x32-10, the counter-based generator (Salmon et al., SC'11).
//
// A random number is a pure function of names and indices: which run (seed), step, micro-batch,
// layer and op, and which element. Nothing is stored and nothing advances, so a recompute draws the
// same numbers, and so does any number of stages, replicas or threads. The functions are constexpr
// so that kernels can call them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace penstock {

// One stream of 2^66 numbers, in blocks of four 32-bit words: block i (a 64-bit number) is
// philox(stream, i).
struct RandomStream {
  std::array<uint32_t, 2> key{};
  std::array<uint32_t, 2> counter{};
};

// Block `index` of a stream: ten rounds on (index, index >> 32, counter[0], counter[1]) under its
// key.
[[nodiscard]] constexpr std::array<uint32_t, 4> philox(const RandomStream& stream, uint64_t index) {
  uint32_t k0 = stream.key[0];
  uint32_t k1 = stream.key[1];
  std::array<uint32_t, 4> c = {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                               stream.counter[0], stream.counter[1]};
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53U} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57U} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return c;
}

// A number in [0, 1) from the upper 24 bits of `word`.
[[nodiscard]] constexpr float uniform_of(uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

// FNV-1a: names to numbers, the same on every machine.
[[nodiscard]] constexpr uint64_t hash_name(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325ULL;
  for (char c : name) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3ULL;
  return h;
}

// Returns a 64-bit number that looks unrelated to those of neighbouring x (the finaliser of
// SplitMix64).
[[nodiscard]] constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// The stream of a seed, of what it is for (`what`: a hash_name()) and of two indices: for example
// (seed, layer name, step, micro-batch).
[[nodiscard]] inline RandomStream random_stream(uint64_t seed, uint64_t what, uint64_t a = 0,
                                                uint64_t b = 0) {
  const uint64_t key = mix(mix(seed) ^ what);
  const uint64_t counter = mix(mix(a) + b);
  return {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)},
          {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32)}};
}

}  // namespace penstock
