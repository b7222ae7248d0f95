// A build without the optional parts: this program has what stands for them in their place. The
// sentence says what to install, and plain text is read as ever.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kernels/error.h"
#include "runtime/data/datasets/images/decoding/archive.h"
#include "runtime/data/datasets/images/decoding/jpeg.h"
#include "runtime/data/datasets/images/decoding/png.h"
#include "runtime/data/parts/part.h"
#include "runtime/data/templates/values/characters.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokenizer/steps/expression.h"
#include "runtime/data/tokenizer/steps/normal_form.h"
#include "runtime/data/tokens/text_file.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

std::string refusal(const std::function<void()>& use) {
  try {
    use();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Resource);
    return error.what();
  }
  return "nothing was refused";
}

TEST(PartsLeftOut, SayWhatToInstall) {
  EXPECT_EQ(
      refusal([] { (void)Pieces("a.model"); }),
      "the vocabulary a.model needs the part 'tokenizers', and this program was built without "
      "it: install its libraries (in Debian libsentencepiece-dev libpcre2-dev libicu-dev), "
      "configure with -DPENSTOCK_TOKENIZERS=ON and build again");
  EXPECT_THAT(
      refusal([] { (void)train_pieces({}, {.size = 80}); }),
      testing::StartsWith("a vocabulary of 80 word pieces needs the part 'tokenizers', and"));
  EXPECT_THAT(refusal([] { (void)decode_png({}, 3, "a.png"); }),
              testing::AllOf(testing::StartsWith("the PNG a.png needs the part 'images', and"),
                             testing::HasSubstr("-DPENSTOCK_IMAGES=ON")));
  EXPECT_THAT(refusal([] { (void)decode_jpeg({}, 3, 1, 1, "a.jpg"); }),
              testing::AllOf(testing::StartsWith("the JPEG a.jpg needs the part 'images', and"),
                             testing::HasSubstr("libjpeg-dev")));
  EXPECT_THAT(refusal([] { (void)Expression({"a+"}, "tokenizer.json"); }),
              testing::AllOf(testing::StartsWith(
                                 "the tokenizer tokenizer.json needs the part 'tokenizers', and"),
                             testing::HasSubstr("-DPENSTOCK_TOKENIZERS=ON")));
  std::string storage;
  EXPECT_THAT(
      refusal([&] { (void)normal_form("\xc3\xa9", NormalForm::C, storage); }),
      testing::AllOf(
          testing::StartsWith("a tokenizer with the normalizers NFC, NFD, NFKC and NFKD needs the "
                              "part 'tokenizers'"),
          testing::HasSubstr("libicu-dev")));
  EXPECT_THAT(refusal([&] { (void)lower_case("A"); }), testing::HasSubstr("Lowercase needs"));
  EXPECT_THAT(refusal([&] { (void)without_marks("A"); }), testing::HasSubstr("StripAccents needs"));
  EXPECT_EQ(jinja::in_case("aB c", jinja::Case::Upper), "AB C");
  EXPECT_EQ(jinja::in_case("aB c", jinja::Case::Capital), "Ab c");
  EXPECT_THAT(
      refusal([] { (void)jinja::in_case("\xc3\xa9", jinja::Case::Upper); }),
      testing::StartsWith("a chat template that changes or names letters beyond ASCII needs the "
                          "part 'tokenizers', and"));
  const TemporaryFolder folder;
  const std::string tar = folder.write("a.tar", "contents");
  EXPECT_THAT(
      refusal([&] { const ArchiveWalk walk(tar); }),
      testing::AllOf(testing::StartsWith("the packed file " + tar + " needs the part 'images'"),
                     testing::HasSubstr("-DPENSTOCK_IMAGES=ON")));
}

TEST(PartsLeftOut, PlainTextIsReadAndPackedTextRefused) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "line " + std::to_string(i) + "\n";
  const TemporaryFolder folder;
  const std::string plain = folder.write("plain", text);
  const std::vector<uint8_t> read = read_whole_file(plain);
  EXPECT_TRUE(std::equal(text.begin(), text.end(), read.begin(), read.end()));
  EXPECT_TRUE(read_whole_file(folder.write("empty", "")).empty());
  const std::string packed = folder.write("packed", "\x1f\x8b and so on");
  EXPECT_THAT(refusal([&] { (void)read_whole_file(packed); }),
              testing::StartsWith("the packed file " + packed + " needs the part 'images'"));
}

}  // namespace
}  // namespace penstock
