// tests/unit/data/fixtures.h -- what the tests of runtime/data share: functions that make files, a
// device that only has memory, and functions that read one sample.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device.h"
#include "kernels/error.h"
#include "runtime/data/datasets/dataset.h"
#include "tests/support/temporary_folder.h"

namespace penstock::test {

void write_file(const std::string& path, const std::string& contents);  // and the folders above it
[[nodiscard]] std::string read_file(const std::string& path);

using Files = std::vector<std::pair<std::string, std::string>>;  // name, contents
enum class Compression : uint8_t { None, Gzip, Zstd, Bzip2, Xz };
void write_archive(const std::string& path, const Files& files, Compression compression);

[[nodiscard]] std::string noise_bytes(size_t n);  // bytes that cannot be compressed

// The memory that opening data takes, in bytes: `held` on the heap while the data live, and `peak`
// at most while they are opened, by the process's touched pages.
struct MemoryTaken {
  size_t held = 0, peak = 0;
};
[[nodiscard]] MemoryTaken memory_taken(const std::function<Datasets()>& open);

// Writes one compressed file, no archive, as the programs gzip, zstd, bzip2 and xz do.
void write_compressed(const std::string& path, const std::string& contents,
                      Compression compression);

// `n` sentences, of at most `longest` words, of a small language: each number `language` has words
// of its own. For vocabularies and translations.
[[nodiscard]] std::vector<std::string> sentences(uint64_t language, int n, uint64_t longest = 9);
[[nodiscard]] std::string joined_lines(const std::vector<std::string>& lines);

// A JPEG of one colour, of the quality that keeps it within a few steps.
[[nodiscard]] std::string plain_jpeg(int height, int width, std::vector<uint8_t> colour);
// A PNG of these pixels, [height, width] of `channels` bytes: 1 grey, 3 RGB, 4 RGB and alpha.
[[nodiscard]] std::string png(int height, int width, int channels,
                              const std::vector<uint8_t>& pixels);
// A JPEG of one colour as Adobe's programs write it for print: of four inks, where 255 is no ink.
// `as_ycck`: stored as brightness, two colour differences and black.
[[nodiscard]] std::string print_jpeg(int height, int width, std::vector<uint8_t> inks,
                                     bool as_ycck);
// A JPEG with some structure everywhere, so that damage shows.
[[nodiscard]] std::string busy_jpeg(int height, int width);

// Host memory and nothing else: data never compute.
class HostDevice final : public Device {
 public:
  HostDevice() { set_facts({.description = "host memory", .model = device_model_named("cpu")}); }
  void synchronize() override {}
  void copy_from_host(Tensor&, const void*, size_t) override { no_ops(); }
  void copy_to_host(void*, const Tensor&, size_t) override { no_ops(); }
  OpSet& ops() override { no_ops(); }
  Memory& memory() override { return memory_; }

 private:
  [[noreturn]] static void no_ops() { fail_internal("the data room computed something"); }
  Memory memory_{host_memory_source()};
};

// The i-th stream of random numbers, for augmentation.
[[nodiscard]] inline RandomStream stream(uint64_t i) {
  return random_stream(1, 2, i);
}

// Each read_...() below reads sample `index`, augmented by stream(draw).
struct TextSample {
  std::vector<int32_t> tokens, labels;
};
[[nodiscard]] TextSample read_text(const Dataset& set, int64_t index, uint64_t draw = 0);

struct PairSample {
  std::vector<int32_t> source, target, labels;
  int32_t source_length = -7;
};
[[nodiscard]] PairSample read_pair(const Dataset& set, int64_t index, uint64_t draw = 0);

struct ImageSample {
  std::vector<float> image;
  int32_t label = -7;
};
[[nodiscard]] ImageSample read_image(const Dataset& set, int64_t index, uint64_t draw = 0);

// Expects that `statement` throws an Error of this kind whose message has all these parts.
template <class Statement>
void expect_error(ErrorKind kind, const std::vector<std::string>& parts, Statement statement) {
  try {
    statement();
    ADD_FAILURE() << "nothing was thrown; expected: " << testing::PrintToString(parts);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    for (const std::string& part : parts) EXPECT_THAT(error.what(), testing::HasSubstr(part));
    EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("\n"))) << "one line";
  }
}

}  // namespace penstock::test
