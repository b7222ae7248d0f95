// Text in word pieces that is kept beside the run: the same as what is cut anew, made once, and
// made again when it is damaged.
#include "runtime/data/tokens/token_cache.h"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

#include "fixtures.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

class TokenCache : public testing::Test {
 protected:
  TokenCache() {
    test::write_file(folder_ / "text", test::joined_lines(test::sentences(1, 300)) + "\n");
    config_ = {.kind = "text", .train = folder_ / "text"};
    config_.tokenizer = "sentencepiece";
    config_.vocabulary_size = 310;
    config_.vocabulary = provide_vocabulary(config_, folder_ / "");
    pieces_ = std::make_unique<Pieces>(config_.vocabulary);
    expected_ = all_of(open());
    fs::create_directory(folder_ / "run");
    config_.cache_folder = folder_ / "run";
    config_.cache_least_bytes = 0;
  }

  [[nodiscard]] TextInPieces open(TextForm form = TextForm::Row) const {
    return text_in_pieces(config_.train, config_, *pieces_, form);
  }
  static std::vector<int32_t> all_of(const TextInPieces& text) {
    std::vector<int32_t> all(static_cast<size_t>(text.tokens->size()));
    text.tokens->read(0, all);
    return all;
  }
  [[nodiscard]] std::vector<std::string> kept() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder_ / "run")) {
      files.push_back(entry.path().string());
    }
    return files;
  }

  TemporaryFolder folder_;
  DataConfig config_;
  std::unique_ptr<Pieces> pieces_;
  std::vector<int32_t> expected_;
};

TEST_F(TokenCache, IsMadeOnceForATextAndAVocabulary) {
  EXPECT_EQ(all_of(open()), expected_);
  ASSERT_EQ(kept().size(), 1U);
  const std::string file = kept().front();
  const auto made = fs::last_write_time(file) - std::chrono::hours(1);
  fs::last_write_time(file, made);
  const TextInPieces again = open();
  EXPECT_EQ(all_of(again), expected_);
  EXPECT_EQ(again.tokens->path(), config_.train) << "messages name the text";
  EXPECT_EQ(fs::last_write_time(file), made) << "it was made again";
  const TokenFile as_tokens = open_token_file(file);  // also a token file for others
  EXPECT_EQ(as_tokens.vocabulary, 310);
  EXPECT_EQ(as_tokens.tokens->size(), std::ssize(expected_));

  test::write_file(config_.train, "another text\n");
  EXPECT_NE(all_of(open()), expected_);
  EXPECT_EQ(kept().size(), 2U);
}

// What is said of a text is said at every start, and not by the one alone that cuts it.
TEST_F(TokenCache, KnowsWhatTheTextHadThatIsNoText) {
  EXPECT_EQ(open().not_utf8, 0);
  EXPECT_FALSE(open().marked);
  test::write_file(config_.train, "\xEF\xBB\xBFone \xFFline\nand \xE2\x82 another\n");
  for (int times = 0; times < 2; ++times) {
    const TextInPieces text = open();
    EXPECT_EQ(text.not_utf8, 3);
    EXPECT_TRUE(text.marked);
  }
  for (const std::string& file : kept()) EXPECT_GT(open_token_file(file).tokens->size(), 0);
}

TEST_F(TokenCache, OfLinesKnowsWhereTheyBegin) {
  const TextInPieces made = open(TextForm::Lines);
  const TextInPieces again = open(TextForm::Lines);
  ASSERT_EQ(made.starts.size(), 302U);
  EXPECT_EQ(again.starts, made.starts);
  EXPECT_EQ(all_of(again), all_of(made));
  EXPECT_LT(made.tokens->size(), std::ssize(expected_)) << "no pieces for ends of lines";
  EXPECT_EQ(all_of(open()), expected_) << "one form is not taken for the other";
}

TEST_F(TokenCache, IsMadeAgainWhereItIsDamaged) {
  for (const TextForm form : {TextForm::Row, TextForm::Lines}) {
    const std::vector<int32_t> right = all_of(open(form));
    const std::string file = kept().back();
    const std::string whole = test::read_file(file);
    const size_t n = whole.size();
    for (const size_t at :
         {size_t{12}, size_t{16}, size_t{40}, n / 2, n - 30, n - 20, n - 10, n - 1}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      test::write_file(file, damaged);
      EXPECT_EQ(all_of(open(form)), right) << at;
      EXPECT_EQ(test::read_file(file), whole) << at;
    }
    for (const size_t length : {size_t{0}, size_t{31}, n / 2, n - 1}) {
      fs::resize_file(file, length);
      EXPECT_EQ(all_of(open(form)), right) << length;
      EXPECT_EQ(test::read_file(file), whole) << length;
    }
    fs::remove(file);
  }
}

TEST_F(TokenCache, IsDoneWithoutWhereNothingCanBeWritten) {
  config_.cache_folder = folder_ / "nowhere";
  const TextInPieces text = open();
  EXPECT_EQ(all_of(text), expected_);
  EXPECT_THAT(text.note, testing::HasSubstr(folder_ / "nowhere/tokens-"));
  config_.cache_folder = folder_ / "run";
  config_.cache_least_bytes = 1 << 20;  // not worth a file
  EXPECT_EQ(open().note, "");
  EXPECT_TRUE(kept().empty());
}

TEST_F(TokenCache, MayBeMadeByManyAtOnce) {
  std::vector<std::thread> ranks;
  std::atomic<int> wrong = 0;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&] {
      if (all_of(open()) != expected_) ++wrong;
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(kept().size(), 1U) << "an unfinished file was left";
}

TEST_F(TokenCache, OfATextIsTheSameForEveryNumberOfThreads) {
  config_.cache_folder.clear();
  test::write_file(config_.train, test::joined_lines(test::sentences(7, 20'000)));
  ASSERT_GT(fs::file_size(config_.train), uintmax_t{4} << 16) << "too small for several threads";
  for (const TextForm form : {TextForm::Row, TextForm::Lines}) {
    config_.cut_threads = 1;
    const TextInPieces alone = open(form);
    for (const int threads : {2, 5}) {
      config_.cut_threads = threads;
      const TextInPieces shared = open(form);
      EXPECT_EQ(shared.starts, alone.starts);
      EXPECT_EQ(all_of(shared), all_of(alone));
    }
  }
}

TEST_F(TokenCache, RemovesWhatKilledJobsHaveLeft) {
  const auto old = fs::file_time_type::clock::now() - std::chrono::hours(2);
  const std::string left = folder_ / "run/tokens-0123.bin.part-host-1-0";
  const std::string being_written = folder_ / "run/tokens-0123.bin.part-1-2";
  const std::string other = folder_ / "run/tokens-of-mine.bin";
  for (const std::string& file : {left, being_written, other}) test::write_file(file, "half");
  fs::last_write_time(left, old);
  fs::last_write_time(other, old);
  EXPECT_EQ(all_of(open()), expected_);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(being_written));
  EXPECT_TRUE(fs::exists(other)) << "a file that is none of ours";
}

// Containers on two hosts may have one name, and the same numbers for their processes.
TEST_F(TokenCache, IsWrittenUnderANameThatNoOtherJobHas) {
  std::array<char, 256> host{};
  ASSERT_EQ(gethostname(host.data(), host.size() - 1), 0);
  (void)open();
  const std::string file = kept().front();
  fs::remove(file);
  for (int i = 0; i < 100; ++i) {  // of another job with our name and number
    fs::create_directory(file + ".part-" + host.data() + "-" + std::to_string(getpid()) + "-" +
                         std::to_string(i));
  }
  EXPECT_EQ(open().note, "");
  EXPECT_TRUE(fs::is_regular_file(file));
}

// The tokens would be those of another text than the name says, and every rank have its own.
TEST_F(TokenCache, OfATextThatChangesMeanwhileIsRefused) {
  class AnyText final : public Tokenizer {
   public:
    [[nodiscard]] int64_t size() const override { return 256; }
    [[nodiscard]] std::vector<int32_t> encode(std::string_view /*text*/) const override {
      return {1};
    }
    [[nodiscard]] std::string decode(std::span<const int32_t> /*ids*/) const override { return {}; }
    [[nodiscard]] int32_t start() const override { return 0; }
  };
  const AnyText tokenizer;
  test::write_file(folder_ / "folder/tokenizer.json", "{}");
  config_.vocabulary = folder_ / "folder";
  const std::string before = test::read_file(config_.train);
  const auto an_hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const std::string& after : {before + "one more line\n", std::string(before.size(), 'x')}) {
    test::write_file(config_.train, before);
    fs::last_write_time(config_.train, an_hour_ago);
    const auto cut = [&](const KeepLine& keep) {
      keep({1, 2, 3});
      test::write_file(config_.train, after);
    };
    test::expect_error(ErrorKind::Data, {config_.train, "changed while it was cut"},
                       [&] { (void)samples_by_tokenizer(config_.train, config_, tokenizer, cut); });
  }
  EXPECT_TRUE(kept().empty());
}

}  // namespace
}  // namespace penstock
