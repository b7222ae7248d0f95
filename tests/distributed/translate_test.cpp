// Translations by a trained network: the same with and without the cache, on any number of stages,
// line by line, from the run directory alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// A translation: letters to other letters, in the same order, some sentences longer than others.
class TranslationOfText : public testing::Test {
 protected:
  void SetUp() override {
    std::string source, target;
    for (uint32_t i = 0; i < 300; ++i) {
      const uint32_t length = 1 + i * 7 % 5;
      for (uint32_t w = 0; w < length; ++w) {
        const auto letter = static_cast<char>('a' + (i * 31 + w * 17 + i / 7) % 9);
        source += std::string(w > 0 ? " " : "") + letter;
        target += std::string(w > 0 ? " " : "") + static_cast<char>(letter + 10);
      }
      source += "\n";
      target += "\n";
    }
    (void)scratch_.write("text.xx", source);
    (void)scratch_.write("text.yy", target);
    const std::string file = scratch_.write("run.toml", R"([model]
kind = "transformer-nmt"
layers = 2
width = 32
heads = 1
hidden = 64
context = 12
[data]
kind = "parallel"
pairs = ["xx-yy"]
vocabulary_size = 28
[optimizer]
kind = "adamw"
learning_rate = 5e-3
[pipeline]
micro_batches = 2
micro_batch_size = 8
[run]
steps = 120
threads = 1
eval_batch = 3
)");
    const JobResult job =
        run_penstock(1, "train " + file + " --data.train '" + scratch_ / "text.{language}" +
                            "' --overwrite --out " + scratch_ / "run");
    ASSERT_EQ(job.exit_code, 0) << job.output;
  }
  // On as many stages as ranks, where `options` say nothing else.
  std::string translated(int ranks, std::string options) {
    if (options.find("--stages") == std::string::npos) {
      options = "--stages " + std::to_string(ranks) + " " + options;
    }
    const std::string errors = scratch_ / "errors";
    const JobResult job = run_penstock(
        ranks, "translate " + scratch_ / "run/run.toml " + options + " 2>" + errors + " | cat");
    EXPECT_THAT(read_file(errors), testing::Not(HasSubstr("error"))) << options;
    return job.output;
  }
  TemporaryFolder scratch_;
};

// Eleven sentences of unequal length in rounds of six rows, of which beams take two or three.
TEST_F(TranslationOfText, IsTheSameWithAndWithoutTheCacheOnAnyNumberOfStages) {
  const std::string sentences =
      scratch_.write("in", "a\nb c\nd e f g h\ni\na b c\nh g f e\nc c c\nb\nf a\ne d c b a\ng h\n");
  for (const std::string beams : {"1", "2", "3"}) {
    const std::string how = "--beam " + beams + " < " + sentences;
    const std::string one = translated(1, how);
    EXPECT_EQ(std::ranges::count(one, '\n'), 11) << one;
    EXPECT_EQ(translated(2, how), one) << beams;
    EXPECT_EQ(translated(4, how), one) << beams;
    EXPECT_EQ(translated(1, "--cache off " + how), one) << beams;
    EXPECT_EQ(translated(2, "--cache off " + how), one) << beams;
    for (const char* cache : {"on", "off"}) {
      EXPECT_EQ(translated(2, std::string("--replicas 2 --stages 1 --cache ") + cache + " " + how),
                one)
          << beams << ", cache " << cache;
    }
  }
}

// Line n of the answer is that of line n: once a network made up something for an empty line.
TEST_F(TranslationOfText, OfABlankLineIsAnEmptyOne) {
  // One that has learnt nothing makes up words for whatever it is given.
  const JobResult job = run_penstock(1, "train " + scratch_ / "run.toml" + " --data.train '" +
                                            scratch_ / "text.{language}" + "' --steps 1 " +
                                            "--overwrite --out " + scratch_ / "run");
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const std::string full = translated(1, "< " + scratch_.write("full", "a b c\nh g f e\n"));
  const size_t end = full.find('\n') + 1;
  const std::string gaps = scratch_.write("gaps", "\na b c\n\n \t\r\nh g f e\n\n");
  const std::string wanted = "\n" + full.substr(0, end) + "\n\n" + full.substr(end) + "\n";
  EXPECT_EQ(translated(1, "< " + gaps), wanted);
  EXPECT_EQ(translated(2, "< " + gaps), wanted);
  EXPECT_EQ(translated(1, "< " + scratch_.write("blank", "\n\n")), "\n\n");
}

TEST_F(TranslationOfText, NeedsNoTextButItsRunDirectory) {
  const std::string sentences = scratch_.write("in", "a\nb c\n");
  const std::string before = translated(1, "< " + sentences);
  for (const char* language : {"xx", "yy"}) {
    std::filesystem::remove(scratch_ / (std::string("text.") + language));
  }
  std::filesystem::rename(scratch_ / "run", scratch_ / "moved");
  std::filesystem::create_directory_symlink("moved", scratch_ / "run");
  EXPECT_EQ(translated(1, "< " + sentences), before);
}

// Options were dropped without a word where nothing read them, and so was BLEU.
TEST_F(TranslationOfText, IsScoredWhereTheValidationTextIsInFiles) {
  const auto eval = [&](const std::string& validation, const std::string& options) {
    return run_penstock(1, "eval " + scratch_ / "run/run.toml" + " --data.validation '" +
                               validation + "' " + options);
  };
  const std::string files = scratch_ / "text.{language}";
  EXPECT_THAT(eval(files, "--beam 2").output, HasSubstr("BLEU xx-yy"));
  const JobResult share = eval("0.1", "");
  EXPECT_EQ(share.exit_code, 0) << share.output;
  EXPECT_THAT(share.output, HasSubstr("note: no BLEU: data.validation = 0.1 is a share"));
  const auto refused = [&](const std::string& options, const std::string& why) {
    const JobResult job = eval("0.1", options);
    EXPECT_EQ(job.exit_code, 2) << job.output;
    EXPECT_THAT(job.output, HasSubstr(why));
  };
  refused("--beam 2 --cache off", "--beam, --cache is for translations");
  refused("--length-penalty nan", "--length-penalty must be a finite number");
  refused("--beam 0", "--beam must be at least 1, not 0");
}

// Names of files came to ranks line by line, so that a name with a newline was none.
TEST_F(TranslationOfText, ReadsFilesWithAnyName) {
  const std::string folder = scratch_ / "two\nlines";
  std::filesystem::create_directory(folder);
  for (const char* name : {"/text.xx", "/text.yy"}) {
    std::filesystem::copy_file(scratch_ / (name + 1), folder + name);
  }
  const JobResult job =
      run_penstock(2, "eval " + scratch_ / "run/run.toml" + " --stages 2 --data.train '" + folder +
                          "/text.{language}' --data.validation 0.1");
  EXPECT_EQ(job.exit_code, 0) << job.output;
}

TEST_F(TranslationOfText, NeedsItsReferenceBeforeItBegins) {
  const std::string sentences = scratch_.write("in", "a\nb c\n");
  const auto refused = [&](const std::string& reference, const std::string& why) {
    const JobResult job =
        run_penstock(1, "translate " + scratch_ / "run/run.toml" + " --stages 1 --reference " +
                            reference + " < " + sentences);
    EXPECT_EQ(job.exit_code, 2) << job.output;
    EXPECT_THAT(job.output, HasSubstr(why));
    EXPECT_EQ(job.output.rfind("penstock: error: ", 0), 0U)
        << "nothing is translated first: " << job.output;
  };
  refused(scratch_ / "nowhere", "nowhere");
  refused(scratch_.write("three", "k\nl\nm\n"), "has 3 lines, and 2 sentences were given");
}

}  // namespace
}  // namespace penstock
