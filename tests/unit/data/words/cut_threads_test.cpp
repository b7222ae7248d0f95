// Texts and lines that several threads cut by one tokenizer: the ids, the order and the errors of
// one thread.
#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/data/datasets/tuning/tuning_texts.h"
#include "runtime/data/tokens/token_cache.h"
#include "tuning_lines.h"

namespace penstock::test {
namespace {

std::vector<int32_t> ids_of_source(const TokenSource& tokens) {
  std::vector<int32_t> all(static_cast<size_t>(tokens.size()));
  tokens.read(0, all);
  return all;
}

class CutThreads : public Tuning {
 protected:
  // `count` lines; those at the places `unfit`, counted from 1, cannot be used.
  static std::string lines(int count, const std::vector<int>& unfit = {}) {
    const std::vector<std::string> words = sentences(11, count);
    std::string all;
    for (int i = 0; i < count; ++i) {
      const std::string& text = words[static_cast<size_t>(i)];
      const bool bad = std::ranges::find(unfit, i + 1) != unfit.end();
      nlohmann::json line = {{"prompt", text}, {"completion", text + "."}};
      if (i % 2 == 1) {
        line = {
            {"messages",
             {{{"role", "user"}, {"content", text}}, {{"role", "assistant"}, {"content", "A"}}}}};
      }
      all += (bad ? "{\"prompt\": 3}" : line.dump()) + "\n";
    }
    return all;
  }
  TuningTexts texts(int threads) {
    config_.cut_threads = threads;
    return TuningFolder(config_).texts(config_.train, 64);
  }
};

TEST_F(CutThreads, GiveATextTheIdsOfOne) {
  std::string text;  // of several parts that are cut apart
  const std::vector<std::string> some = sentences(5, 3000);
  while (text.size() < size_t{5} << 20) text += joined_lines(some) + "\n";
  write_file(config_.train, text);
  const auto tokenizer = open_hub_tokenizer(kFolder);
  const std::vector<int32_t> whole = tokenizer->encode(text);
  for (const int threads : {1, 2, 5}) {
    config_.cut_threads = threads;
    EXPECT_EQ(ids_of_source(*text_by_tokenizer(config_.train, config_, *tokenizer).tokens), whole)
        << threads;
  }
}

TEST_F(CutThreads, GiveLinesOfJsonTheIdsAndPlacesOfOne) {
  write_file(config_.train, lines(4000));
  const TuningTexts alone = texts(1);
  ASSERT_EQ(alone.lines, 4000);
  for (const int threads : {2, 5}) {
    const TuningTexts shared = texts(threads);
    EXPECT_EQ(ids_of_source(*shared.tokens), ids_of_source(*alone.tokens));
    EXPECT_EQ(shared.begins, alone.begins);
    EXPECT_EQ(shared.numbers, alone.numbers);
  }
}

TEST_F(CutThreads, NameTheFirstLineOfTheFileThatIsUnfit) {
  write_file(config_.train, lines(4000, {2001, 2002, 3999}));
  for (const int threads : {1, 2, 5}) {
    expect_error(ErrorKind::Data, {config_.train, "line 2001"}, [&] { (void)texts(threads); });
  }
}

TEST_F(CutThreads, AskTheQuestionsOfOne) {
  write_file(config_.train, lines(1));
  config_.validation = files_ / "asked.jsonl";
  write_file(config_.validation, lines(4000));
  config_.cut_threads = 1;
  const Datasets alone = open_questions(config_, 64);
  config_.cut_threads = 4;
  const Datasets shared = open_questions(config_, 64);
  ASSERT_EQ(shared.questions->all.size(), alone.questions->all.size());
  ASSERT_GT(alone.questions->all.size(), 3000U);
  EXPECT_EQ(shared.questions->lengths, alone.questions->lengths);
  for (int64_t row = 0; row < alone.validation->size(); row += 97) {
    EXPECT_EQ(read_text(*shared.validation, row).tokens, read_text(*alone.validation, row).tokens);
  }
}

TEST_F(CutThreads, MayAskOneTokenizerAtOnce) {
  const std::vector<std::string> texts = sentences(9, 200);
  const auto tokenizer = open_hub_tokenizer(kFolder);
  const auto alone = open_hub_tokenizer(kFolder);
  std::vector<std::vector<int32_t>> expected;
  for (const std::string& text : texts) expected.push_back(alone->encode(text));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; i < texts.size(); ++i) {
        if (tokenizer->encode(texts[i]) != expected[i]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace penstock::test
