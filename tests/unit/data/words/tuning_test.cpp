// data.kind = "jsonl": what counts, and how samples share rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/data/datasets/tuning/tuning_set.h"
#include "tests/unit/data/words/tuning_lines.h"

namespace penstock::test {
namespace {

TEST(Packing, PutsEverySampleIntoOneRow) {
  std::mt19937 random(2);
  std::vector<int32_t> lengths(5000);
  for (int32_t& length : lengths) length = 1 + static_cast<int32_t>(random() % 200);
  const PackedRows rows = pack_rows(lengths, 256, 7, true);
  std::vector<int> seen(lengths.size());
  for (int64_t r = 0; r < rows.size(); ++r) {
    int64_t filled = 0;
    for (const int64_t sample : rows.row(r)) {
      filled += lengths[static_cast<size_t>(sample)];
      ++seen[static_cast<size_t>(sample)];
    }
    EXPECT_LE(filled, 256);
  }
  EXPECT_THAT(seen, testing::Each(1));
  EXPECT_GT(filled_share(rows, lengths, 256), 0.97) << "of rows of one sample it is 0.39";
  EXPECT_EQ(pack_rows(lengths, 256, 7, true).samples, rows.samples) << "the same everywhere";
  EXPECT_NE(pack_rows(lengths, 256, 8, true).samples, rows.samples) << "another seed, other rows";
}

// R1's distilled models, QwQ: the generation prompt opens a thought that history does not show.
TEST_F(Tuning, AnswersFollowWhatPromptAndHistoryHaveInCommon) {
  write_file(files_ / "folder/chat_template.jinja",
             "{% for m in messages %}{% if m.role == 'user' %}U{{ m.content }}{% else %}"
             "A{{ m.content.split('</think>')[-1] }}<|eot_id|>{% endif %}{% endfor %}"
             "{% if add_generation_prompt %}A<think>\n{% endif %}");
  const auto [said, note] = learnt(
      R"({"messages": [{"role": "user", "content": "q"},)"
      R"( {"role": "assistant", "content": "<think>t</think>x"}, {"role": "user", "content": "q"},)"
      R"( {"role": "assistant", "content": "y"}]})");
  EXPECT_THAT(said, testing::StartsWith("x<|eot_id|>"));
  EXPECT_THAT(said, testing::EndsWith("y<|eot_id|>"));
  EXPECT_THAT(note, testing::HasSubstr("1 conversation whose answer begins before the end of the "
                                       "generation prompt"));
}

// What the template reads it is given, in the order of the line; what it does not read would be
// lost.
TEST_F(Tuning, ToolsAndKeywordsAreForTheTemplate) {
  const std::string tools = R"("tools": [{"name": "w", "args": {"b": 1, "a": 2}}], )";
  const std::string messages = R"("messages": [{"role": "user", "content": "x"},)"
                               R"( {"role": "assistant", "content": "y"}]})";
  const auto refused = [&](const std::string& extras, const std::string& name) {
    expect_error(ErrorKind::Input, {"train.jsonl, line 1", name, "would be lost"},
                 [&] { (void)open("{" + extras + messages, 60); });
  };
  refused(tools, "tools");
  refused(R"("chat_template_kwargs": {"enable_thinking": false}, )", "enable_thinking");
  write_file(files_ / "folder/chat_template.jinja",
             "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.role }}:"
             "{{ m.content }}{{ think }};{% endfor %}{% if add_generation_prompt %}assistant:"
             "{% endif %}");
  const auto tokenizer = open_hub_tokenizer(kFolder);
  const Datasets sets =
      open("{" + tools + R"("chat_template_kwargs": {"think": 7}, )" + messages, 90);
  EXPECT_THAT(
      tokenizer->decode(read_text(*sets.train, 0).tokens),
      testing::StartsWith(R"([{"name": "w", "args": {"b": 1, "a": 2}}]user:x7;assistant:y7)"));
  EXPECT_THAT(learnt("{" + messages).second, testing::Not(testing::HasSubstr("roles")));
}

TEST_F(Tuning, WhatIsLeftOutIsCountedByItsReason) {
  const auto [said, note] = learnt(R"({"text": "the a"}
{"messages": [{"role": "user", "content": "x"}]}
{"messages": []}
)");
  EXPECT_THAT(note, testing::HasSubstr("1 line in 1 row of 60"));
  EXPECT_THAT(note, testing::HasSubstr("2 lines left out: 2 without an answer"));
  expect_error(ErrorKind::Input, {"none of its 1 line is left", "1 without an answer"},
               [&] { (void)open(R"({"messages": [{"role": "user", "content": "x"}]})", 60); });
  expect_error(ErrorKind::Input, {"has no lines"}, [&] { (void)open("\n\n", 60); });
}

TEST_F(Tuning, ItIsSaidThatNoTokenEndsTexts) {
  EXPECT_THAT(learnt(R"({"text": "the a"})").second, testing::Not(testing::HasSubstr("eos_token")));
  write_file(files_ / "folder/tokenizer_config.json", "{}");
  EXPECT_THAT(learnt(R"({"text": "the a"})").second,
              testing::HasSubstr("no end-of-text token is known"));
}

TEST_F(Tuning, LossIsOnTheAnswerAlone) {
  config_.packed = false;
  config_.shuffle = false;
  const Datasets sets = open(
      R"({"text": "the a"}
{"prompt": "x the", "completion": " the z"}

{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}
{"prompt": "x", "choices": ["a", "b"], "answer": 1}
{"prompt": [{"role": "user", "content": "x"}], "completion": [{"role": "assistant", "content": "w"}]}
)",
      40);
  ASSERT_EQ(sets.train->size(), 5);
  const auto said = [&](int64_t row) { return said_in(sets, row); };
  EXPECT_EQ(said(0), "the a<|end_of_text|>");
  EXPECT_EQ(said(1), " the z<|end_of_text|>");
  EXPECT_EQ(said(2), "y<|eot_id|>");
  EXPECT_EQ(said(3), "b<|end_of_text|>");
  EXPECT_EQ(said(4), "w<|eot_id|>");
  EXPECT_EQ(sets.train->fields().size(), 2U) << "a row of one sample needs no starts";
}

// Whatever the context, and until the template is another one.
TEST_F(Tuning, LinesAreCutOnceAndKept) {
  config_.cache_folder = files_ / "kept";
  config_.cache_least_bytes = 1;
  std::filesystem::create_directory(config_.cache_folder);
  const std::string lines = R"({"text": "the a"}
{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y and z"}]}
{"prompt": "x the", "completion": " the z"}
)";
  const auto kept = [&] {
    std::vector<std::filesystem::directory_entry> files;
    for (const auto& file : std::filesystem::directory_iterator(config_.cache_folder)) {
      files.push_back(file);
    }
    return files;
  };
  config_.packed = false;
  const Datasets made = open(lines, 20);
  ASSERT_EQ(kept().size(), 1U);
  const auto age = kept()[0].last_write_time();
  const Datasets again = open(lines, 20);
  EXPECT_THAT(open(lines, 9).note, testing::HasSubstr("2 lines in 2 rows of 9"));
  ASSERT_EQ(kept().size(), 1U);
  EXPECT_EQ(kept()[0].last_write_time(), age) << "it was not made again";
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(answers(*again.train, row), answers(*made.train, row));
  }
  EXPECT_EQ(again.note, made.note);
  write_file(files_ / "folder/chat_template.jinja",
             "{% for m in messages %}{{ m.content }}{% endfor %}");
  (void)open(lines, 20);
  EXPECT_EQ(kept().size(), 2U);
}

// Scores by hand: of equals the first choice is taken, and a long one may be likelier by the
// character.
TEST_F(Tuning, ChoicesAreFoundByLikelihoodAndByTheCharacter) {
  Questions questions;
  questions.all = {{0, 1, -1}, {1, 1, -1}, {2, 2, 1}, {4, 3, 0}};
  questions.characters = {0, 0, 2, 8, 1, 1, 4};
  const std::vector<TextScore> scores = {{-9.0, true},  {-0.1, false}, {-2.0, false}, {-4.0, false},
                                         {-1.0, false}, {-1.0, false}, {-3.0, false}};
  const AnswerScores all = score(questions, scores);
  EXPECT_EQ(all.answers, 2);
  EXPECT_EQ(all.exact, 1);
  EXPECT_EQ(all.questions, 2);
  EXPECT_EQ(all.right, 1) << "-2 is more than -4; of two of -1 the first";
  EXPECT_EQ(all.right_by_length, 1) << "-4 / 8 is more than -2 / 2; -3 / 4 more than -1";
}

TEST_F(Tuning, QuestionsAreThoseOfTheLinesThatAreHeldOut) {
  write_file(files_ / "asked.jsonl", R"({"text": "the a"}
{"prompt": "a", "choices": [" b", "  été"], "answer": 1}

{"prompt": "a", "completion": " b"}
{"prompt": "a", "completion": " b and what is far too long for a row of so few"}
)");
  config_.validation = files_ / "asked.jsonl";
  config_.questions = true;
  const Datasets asked = open(R"({"text": "the a"})", 12);
  ASSERT_EQ(asked.questions->all.size(), 2U);
  EXPECT_EQ(asked.questions->too_long, 1);
  EXPECT_EQ(asked.questions->without_token, 0);
  EXPECT_EQ(asked.questions->all[0].answer, 1);
  EXPECT_EQ(asked.questions->characters, (std::vector<int64_t>{1, 3, 0}));
  // A choice ends nothing, an answer does.
  std::string said;
  for (int64_t r = 0; r < asked.validation->size(); ++r) said += answers(*asked.validation, r);
  EXPECT_EQ(said.find("<|end_of_text|>"), said.rfind("<|end_of_text|>")) << said;
  EXPECT_THAT(said, testing::HasSubstr(" b<|end_of_text|>"));

  config_.validation = "0.5";
  const Datasets share = open(read_file(files_ / "asked.jsonl"), 12);
  EXPECT_EQ(share.questions->all.size(), 1U) << "of four lines the last two";
}

// A packed row holds the samples as they are alone, each with where it starts.
TEST_F(Tuning, PackedRowsHoldTheSamplesAsTheyAreAlone) {
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    lines += R"({"prompt": "number )" + std::to_string(i) + R"( is", "completion": ")" +
             std::string(static_cast<size_t>(i % 13), 'q') + "\"}\n";
  }
  const Datasets packed = open(lines, 64);
  config_.packed = false;
  config_.shuffle = false;
  const Datasets alone = open(lines, 64);
  EXPECT_LT(2 * packed.train->size(), alone.train->size());
  const auto row_of = [](const Dataset& set, int64_t row) {
    std::vector<std::vector<int32_t>> fields(set.fields().size(), std::vector<int32_t>(64, -9));
    std::vector<void*> out;
    for (auto& field : fields) out.push_back(field.data());
    set.read(row, stream(0), out);
    return fields;
  };
  std::vector<std::vector<int32_t>> single;  // tokens and labels up to the last label
  for (int64_t r = 0; r < alone.train->size(); ++r) {
    const auto fields = row_of(*alone.train, r);
    size_t end = 64;
    while (fields[1][end - 1] < 0) --end;
    std::vector<int32_t> both(fields[0].begin(), fields[0].begin() + static_cast<int>(end));
    both.insert(both.end(), fields[1].begin(), fields[1].begin() + static_cast<int>(end));
    single.push_back(both);
  }
  std::vector<std::vector<int32_t>> found;
  for (int64_t r = 0; r < packed.train->size(); ++r) {
    const auto fields = row_of(*packed.train, r);
    for (size_t begin = 0; begin < 64;) {
      size_t end = begin;
      while (end < 64 && fields[2][end] == static_cast<int32_t>(begin)) ++end;
      ASSERT_GT(end, begin);
      if (fields[1][end - 1] < 0) {
        EXPECT_EQ(end, begin + 1) << "padding starts at itself";
      } else {
        const auto part = [&](size_t f) {
          return std::span(fields[f]).subspan(begin, end - begin);
        };
        std::vector<int32_t> both(part(0).begin(), part(0).end());
        both.insert(both.end(), part(1).begin(), part(1).end());
        found.push_back(both);
      }
      begin = end;
    }
  }
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(single));
}

TEST_F(Tuning, LongSamplesAreCutOrLeftOutAndCounted) {
  const std::string lines = R"({"prompt": "a", "completion": "b"}
{"text": "a long text that goes on and on and on and on"}
{"prompt": "a long prompt that goes on and on and on and on and on", "completion": "x"}
)";
  const Datasets cut = open(lines, 12);
  EXPECT_THAT(cut.note, testing::AllOf(testing::HasSubstr("2 lines in 2 rows of 12"),
                                       testing::HasSubstr("1 line cut off"),
                                       testing::HasSubstr("1 line left out: 1 whose answer begins "
                                                          "behind model.context")));
  config_.too_long = "leave-out";
  EXPECT_THAT(open(lines, 12).note, testing::AllOf(testing::HasSubstr("1 line in 1 row"),
                                                   testing::HasSubstr("2 lines left out: 2 longer "
                                                                      "than model.context")));
}

// A text of any length becomes the same tokens as at once, by parts and from the cache.
TEST_F(Tuning, LinesThatADownloadLeftOutAreCalledThat) {
  expect_error(ErrorKind::Data, {"train.jsonl is a pointer of git-lfs"}, [&] {
    (void)open("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1\n", 12);
  });
  expect_error(ErrorKind::Data, {"train.jsonl, line 1 is a web page"},
               [&] { (void)open("<!DOCTYPE html>\n<html></html>\n", 12); });
}

TEST_F(Tuning, TextsHaveTheTokensOfTheWhole) {
  // GPT-2's expression tells blanks at the end of a text from those before a line, and here a token
  // of both a blank and a newline tells, too.
  auto words =
      nlohmann::json::parse(read_file(std::string(PENSTOCK_WORDS) + "/gpt2/tokenizer.json"));
  const size_t next = words["model"]["vocab"].size();
  words["model"]["vocab"]["\u0120\u010A"] = next;
  words["added_tokens"].clear();
  words["model"]["merges"].push_back({"\u0120", "\u010A"});
  config_.vocabulary = files_ / "gpt2";
  write_file(files_ / "gpt2/tokenizer.json", words.dump());
  const auto tokenizer = open_hub_tokenizer(config_.vocabulary);
  std::string text;
  for (int i = 0; i < 60'000; ++i) {
    text += "line " + std::to_string(i) + (i % 70 == 0 ? ".\n" : ".  \n") + "the end of it \n";
  }
  write_file(files_ / "text.txt", text);
  config_.kind = "text";
  config_.train = files_ / "text.txt";
  config_.shuffle = false;
  config_.cache_folder = files_ / "";
  config_.cache_least_bytes = 1;
  SampleShape shape;
  shape.context = 16;
  const std::vector<int32_t> whole = tokenizer->encode(text);
  ASSERT_LT(tokenizer->encode("a \n").size(), tokenizer->encode("a \nb").size())
      << "else a cut behind a blank would change nothing";
  for (int time = 0; time < 2; ++time) {
    const Datasets sets = open_datasets(config_, shape, 3);
    EXPECT_EQ(sets.train->size(), static_cast<int64_t>(whole.size() - 1) / 16);
    for (const int64_t row : {int64_t{0}, sets.train->size() / 2, sets.train->size() - 1}) {
      const std::span part = std::span(whole).subspan(static_cast<size_t>(16 * row), 16);
      EXPECT_THAT(read_text(*sets.train, row).tokens, testing::ElementsAreArray(part));
    }
  }
}

}  // namespace
}  // namespace penstock::test
