// Numbers of safetensors files: of sixteen bits, and as they are read.
#include "runtime/records/checkpoint/format/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/records/checkpoint/format/number_reader.h"
#include "tests/unit/records/checkpoint/bytes.h"

namespace penstock {
namespace {

TEST(Numbers, HalvesAreExact) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const uint32_t exponent = (bits >> 10) & 31;
    const uint32_t fraction = bits & 0x3FF;
    double expected = exponent == 0 ? std::ldexp(fraction, -24)
                                    : std::ldexp(1024 + fraction, static_cast<int>(exponent) - 25);
    if (exponent == 31) {
      expected = fraction != 0 ? std::nan("") : std::numeric_limits<double>::infinity();
    }
    if ((bits & 0x8000) != 0) expected = -expected;
    const float found = float_of_half(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found));
    } else {
      EXPECT_EQ(static_cast<double>(found), expected) << bits;
      EXPECT_EQ(std::signbit(found), std::signbit(expected)) << bits;
    }
  }
}

// More numbers than are converted, or asked of the disk, at a time.
TEST(Numbers, OfALargeTensorComeFromTheirPlaces) {
  constexpr size_t kCount = (size_t{5} << 20) + 3;
  constexpr size_t kFirst = 7;
  const auto number = [](size_t i) { return float(bfloat16(1.0F + float(i % 8191))); };
  const TemporaryFolder here;
  for (const std::string dtype : {"F32", "BF16"}) {
    SafetensorsHeader header{{{"x", dtype, {int64_t{kCount}}, 0, kCount * number_bytes(dtype)}},
                             {}};
    std::string text = encode_safetensors_header(header);
    std::vector<float> all(kCount);
    for (size_t i = 0; i < kCount; ++i) all[i] = number(i);
    std::vector<std::byte> bytes(kCount * number_bytes(dtype));
    from_floats(all, dtype, bytes);
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    put(here / "x", text);
    const SafetensorsFile file(here / "x");
    NumberReader numbers(file, *file.find("x"));
    std::vector<float> wide(kCount - kFirst);
    numbers.read(kFirst, std::span<float>(wide));
    std::vector<bfloat16> narrow(kCount - kFirst);
    numbers.read(kFirst, std::span<bfloat16>(narrow));
    size_t wrong = 0;
    for (size_t i = 0; i < wide.size(); ++i) {
      wrong += wide[i] == number(i + kFirst) && float(narrow[i]) == number(i + kFirst) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U) << dtype;
  }
}

}  // namespace
}  // namespace penstock
