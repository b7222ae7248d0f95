// BLEU beside sacreBLEU itself, live: tokens and scores of random lines, full of what tokenizers
// trip over, and the scores of the files beside this one, which bleu_test.cpp has as numbers (from
// sacreBLEU 2.6.0) and checks everywhere. PENSTOCK_PYTHON names a Python that has it [python3];
// skipped, and said so, without:
//   python3 -m venv /tmp/bleu && /tmp/bleu/bin/pip install sacrebleu
//   PENSTOCK_PYTHON=/tmp/bleu/bin/python launch/test.sh Sacrebleu
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "kernels/philox.h"
#include "runtime/data/scores/bleu.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

std::string python() {
  const char* chosen = std::getenv("PENSTOCK_PYTHON");
  return chosen != nullptr ? chosen : "python3";
}

std::vector<std::string> output_lines(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string all;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    all += static_cast<char>(c);
  }
  std::vector<std::string> lines;
  for (size_t at = 0, end = 0; (end = all.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(all.substr(at, end - at));
  }
  return lines;
}

std::string random_line(uint64_t number) {
  static const std::vector<std::string> parts = {"a",
                                                 "the",
                                                 "Haus",
                                                 "\xC3\xA9t\xC3\xA9",
                                                 "1",
                                                 "23",
                                                 ".",
                                                 ",",
                                                 "-",
                                                 "...",
                                                 "!",
                                                 "'",
                                                 "\"",
                                                 "&amp;",
                                                 "&quot;",
                                                 "&",
                                                 "<skipped>",
                                                 "(",
                                                 ")",
                                                 "/",
                                                 "%",
                                                 "\xC2\xA0",
                                                 " ",
                                                 " ",
                                                 " ",
                                                 "\xE2\x80\x93",
                                                 "\xE3\x80\x80",
                                                 "\xE2\x82\xAC",
                                                 "3.5",
                                                 "4,",
                                                 ".5",
                                                 "-7",
                                                 "_"};
  const RandomStream stream = random_stream(5, number);
  const auto words = 1 + philox(stream, 0)[0] % 24;
  std::string line;
  for (uint64_t i = 0; i < words; ++i) line += parts[philox(stream, i + 1)[0] % parts.size()];
  return line;
}

bool there_is_sacrebleu() {
  return std::system((python() + " -c 'import sacrebleu' 2>/dev/null").c_str()) == 0;
}
std::string needs_sacrebleu() {
  return "needs the Python package sacrebleu: " + python() +
         " -m pip install sacrebleu, or set PENSTOCK_PYTHON to a Python that has it";
}

std::vector<std::string> file_lines(const std::string& file) {
  std::ifstream stream(PENSTOCK_SCORES "/" + file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Sacrebleu, GivesTheSameTokensAndScore) {
  if (!there_is_sacrebleu()) {
    GTEST_SKIP() << needs_sacrebleu();
  }
  const TemporaryFolder folder;
  constexpr uint64_t kLines = 1000;
  Bleu bleu;
  std::vector<std::string> hypotheses;
  {
    std::ofstream ours(folder / "hypotheses");
    std::ofstream theirs(folder / "references");
    for (uint64_t i = 0; i < kLines; ++i) {
      hypotheses.push_back(random_line(2 * i));
      // Every other reference shares its beginning, so that all orders match somewhere.
      const std::string reference =
          (i % 2 == 0 ? hypotheses.back() + " " : "") + random_line(2 * i + 1);
      ours << hypotheses.back() << "\n";
      theirs << reference << "\n";
      bleu.add(hypotheses.back(), reference);
    }
  }
  const std::string script =
      "import sys\n"
      "from sacrebleu.metrics import BLEU\n"
      "h, r = (open(f, encoding=\"utf-8\", newline=\"\\n\").read().split(\"\\n\")[:-1] for f in "
      "sys.argv[1:])\n"
      "b = BLEU()\n"
      "for line in h: print(b.tokenizer(line.rstrip()))\n"
      "print(repr(b.corpus_score(h, [r]).score))\n";
  const std::vector<std::string> lines =
      output_lines("PYTHONIOENCODING=utf-8 " + python() + " " + folder.write("score.py", script) +
                   " " + folder / "hypotheses" + " " + folder / "references");
  ASSERT_EQ(lines.size(), kLines + 1);
  for (uint64_t i = 0; i < kLines; ++i) {
    ASSERT_EQ(tokenize_13a(hypotheses[i]), lines[i]) << "of: " << hypotheses[i];
  }
  EXPECT_NEAR(bleu.score(), std::stod(lines.back()), 1e-9);
  EXPECT_GT(bleu.score(), 1.0);
}

TEST(Sacrebleu, AgreesOnThreeTranslations) {
  if (!there_is_sacrebleu()) {
    GTEST_SKIP() << needs_sacrebleu();
  }
  const std::vector<std::string> references = file_lines("reference.txt");
  for (const char* file : {"good.txt", "fair.txt", "poor.txt"}) {
    const std::vector<std::string> hypotheses = file_lines(file);
    ASSERT_EQ(hypotheses.size(), references.size());
    Bleu bleu;
    for (size_t i = 0; i < hypotheses.size(); ++i) bleu.add(hypotheses[i], references[i]);
    const std::vector<std::string> theirs = output_lines(
        python() + " -m sacrebleu " PENSTOCK_SCORES "/reference.txt -i " PENSTOCK_SCORES "/" +
        file + " -m bleu -b -w 6");
    ASSERT_EQ(theirs.size(), 1U) << file;
    EXPECT_NEAR(bleu.score(), std::stod(theirs[0]), 1e-6) << file;
  }
}

}  // namespace
}  // namespace penstock
