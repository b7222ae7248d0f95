// Token files of llm.c and of Megatron-LM, whole and damaged, one or several.
#include <filesystem>

#include "fixtures.h"
#include "runtime/data/datasets/text/text.h"
#include "runtime/data/tokens/shards/megatron_tokens.h"
#include "runtime/data/tokens/shards/token_shards.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::expect_error;
using testing::ElementsAre;

template <class T>
std::string bytes_of_all(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string llmc(int32_t magic, int32_t version, const std::vector<T>& tokens) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = static_cast<int32_t>(tokens.size());
  return bytes_of_all(header) + bytes_of_all(tokens);
}

std::string gpt2(const std::vector<uint16_t>& tokens) {
  return llmc(20240520, 1, tokens);
}

struct Index {
  uint8_t type = 8;
  std::vector<int32_t> lengths = {3, 1, 2};
  std::vector<int64_t> places = {0, 6, 8};
  std::vector<int64_t> documents = {0, 2, 3};
  [[nodiscard]] std::string bytes() const {
    const std::vector<uint64_t> version = {1};
    const std::vector<uint64_t> counts = {lengths.size(), documents.size()};
    return std::string("MMIDIDX\0\0", 9) + bytes_of_all(version) +
           std::string(1, static_cast<char>(type)) + bytes_of_all(counts) + bytes_of_all(lengths) +
           bytes_of_all(places) + bytes_of_all(documents);
  }
};

class ForeignTokens : public testing::Test {
 protected:
  std::vector<int32_t> all_of(const std::string& name) {
    const TokenFile file = open_token_files(folder_ / name);
    std::vector<int32_t> all(static_cast<size_t>(file.tokens->size()));
    file.tokens->read(0, all);
    return all;
  }
  void write(const std::string& name, const std::string& contents) {
    test::write_file(folder_ / name, contents);
  }
  void write_pair(const Index& index, const std::string& tokens) {
    write("pair.idx", index.bytes());
    write("pair.bin", tokens);
  }
  TemporaryFolder folder_;
};

TEST_F(ForeignTokens, OfLlmcAreRead) {
  write("gpt2.bin", gpt2({50256, 0, 7}));
  EXPECT_THAT(all_of("gpt2.bin"), ElementsAre(50256, 0, 7));
  write("llama.bin", llmc<uint32_t>(20240801, 7, {128000, 1}));
  EXPECT_THAT(all_of("llama.bin"), ElementsAre(128000, 1));
}

TEST_F(ForeignTokens, OfLlmcAreRefusedWhereTheyDoNotFit) {
  const std::string whole = gpt2({1, 2, 3});
  for (const auto& [contents, why] : std::vector<std::pair<std::string, std::string>>{
           {whole.substr(0, 1000), "byte 1000: it is no token file (it is cut off"},
           {whole.substr(0, whole.size() - 1), "byte 1029: it is no token file (it is shorter"},
           {whole + "x", "byte 1030: it is no token file (it is longer"},
           {llmc<uint16_t>(20240520, 2, {1}), "byte 4: it is no token file (of llm.c's"},
           // The header of a file that was cut where the number of tokens would be negative.
           {whole.substr(0, 8) + "\xff\xff\xff\xff" + whole.substr(12), "shorter"}}) {
    write("a.bin", contents);
    expect_error(ErrorKind::Data, {folder_ / "a.bin", why}, [&] { (void)all_of("a.bin"); });
  }
}

// Bare numbers, as nanoGPT writes them: the message says how to make a file of them.
TEST_F(ForeignTokens, OfNanoGptAreRefusedWithTheCure) {
  write("train.bin", bytes_of_all<uint16_t>({1, 2, 3, 4, 5, 6, 7, 8}));
  expect_error(ErrorKind::Data,
               {folder_ / "train.bin", "nanoGPT", "numpy.uint16", "docs/data.md#tokens"},
               [&] { (void)all_of("train.bin"); });
}

TEST_F(ForeignTokens, OfMegatronAreReadByAnyNameOfThePair) {
  const std::string tokens = bytes_of_all<uint16_t>({1, 2, 3, 50000, 5, 6});
  write_pair({}, tokens);
  for (const char* name : {"pair", "pair.idx", "pair.bin"}) {
    EXPECT_THAT(all_of(name), ElementsAre(1, 2, 3, 50000, 5, 6)) << name;
  }
  write_pair({.type = 4, .places = {0, 12, 16}}, bytes_of_all<int32_t>({1, 2, 3, 70000, 5, 6}));
  EXPECT_THAT(all_of("pair"), ElementsAre(1, 2, 3, 70000, 5, 6));
}

TEST_F(ForeignTokens, OfMegatronTellNegativeNumbersAsTheyAre) {
  write_pair({.type = 4, .places = {0, 12, 16}}, bytes_of_all<int32_t>({1, 2, 3, -1, 5, 6}));
  expect_error(ErrorKind::Data, {folder_ / "pair.bin", "byte 12: token 3", "is -1, which"},
               [&] { (void)all_of("pair"); });
}

// The file has as many sequences as are read at once, and some more.
TEST_F(ForeignTokens, OfMegatronMayHaveManySequences) {
  Index index{.type = 1, .lengths = {}, .places = {}, .documents = {0}};
  std::string tokens;
  for (int i = 0; i < 9000; ++i) {
    index.lengths.push_back(i % 3);
    index.places.push_back(static_cast<int64_t>(tokens.size()));
    tokens.append(static_cast<size_t>(i % 3), static_cast<char>(i % 100));
  }
  write_pair(index, tokens);
  EXPECT_EQ(all_of("pair").size(), 9000U);
  index.places[5000] += 1;
  write_pair(index, tokens);
  const std::string place = "byte " + std::to_string(34 + 4 * 9000 + 8 * 5000);
  expect_error(ErrorKind::Data, {folder_ / "pair.idx", place, "does not begin where"},
               [&] { (void)all_of("pair"); });
}

TEST_F(ForeignTokens, OfMegatronAreRefusedWhereTheyDoNotFit) {
  const std::string tokens = bytes_of_all<uint16_t>({1, 2, 3, 4, 5, 6});
  const std::string whole = Index().bytes();
  const auto with = [&](size_t at, const std::string& bytes) {
    return whole.substr(0, at) + bytes + whole.substr(at + bytes.size());
  };
  const std::string huge("\xff\xff\xff\xff\xff\xff\xff\x7f", 8);
  for (const auto& [index, why] : std::vector<std::pair<std::string, std::string>>{
           {whole.substr(0, 20), "byte 20: it is no token file (it is cut off"},
           {with(9, "\x02"), "byte 9: it is no token file (its version"},
           {Index{.type = 5}.bytes(), "byte 17: it is no token file (its tokens are int64"},
           {with(18, huge), "byte 18: it is no token file (it is shorter"},
           {with(26, huge), "byte 26: it is no token file (it is shorter"},
           {whole + "xx", "byte 94: it is no token file (it is longer"},
           {Index{.lengths = {-3, 1, 2}}.bytes(), "byte 34: it is no token file (a sequence has"},
           {Index{.places = {0, 6, 10}}.bytes(),
            "byte 62: it is no token file (a sequence does"}}) {
    write("pair.idx", index);
    write("pair.bin", tokens);
    expect_error(ErrorKind::Data, {folder_ / "pair.idx", why}, [&] { (void)all_of("pair.idx"); });
  }
  write_pair({}, tokens.substr(2));
  expect_error(ErrorKind::Data, {folder_ / "pair.bin", "byte 10", "shorter"},
               [&] { (void)all_of("pair"); });
  write_pair({}, tokens + "xx");
  expect_error(ErrorKind::Data, {folder_ / "pair.bin", "byte 12", "longer"},
               [&] { (void)all_of("pair"); });
  std::filesystem::remove(folder_ / "pair.bin");
  expect_error(ErrorKind::Input, {folder_ / "pair.bin"}, [&] { (void)all_of("pair"); });
}

TEST_F(ForeignTokens, InSeveralFilesAreOneText) {
  write("train_000002.bin", gpt2({6, 7, 8, 9}));
  write("train_000001.bin", gpt2({0, 1, 2}));
  write("train_000010.bin", gpt2({10}));
  write("val_000000.bin", gpt2({20, 21, 22}));
  EXPECT_THAT(all_of("train_*.bin"), ElementsAre(0, 1, 2, 6, 7, 8, 9, 10));
  std::vector<int32_t> part(4);
  open_token_files(folder_ / "train_*.bin").tokens->read(2, part);
  EXPECT_THAT(part, ElementsAre(2, 6, 7, 8));
  DataConfig config{.kind = "tokens", .train = folder_ / "train_*.bin"};
  config.validation = folder_ / "val_*.bin";
  config.shuffle = false;
  const Datasets sets = open_text(config, 3);
  EXPECT_THAT(test::read_text(*sets.train, 1).labels, ElementsAre(7, 8, 9));
  EXPECT_THAT(test::read_text(*sets.validation, 0).labels, ElementsAre(21, 22, -1));
  expect_error(ErrorKind::Input, {"no token file at", "test_*.bin"},
               [&] { (void)all_of("test_*.bin"); });
}

}  // namespace
}  // namespace penstock
