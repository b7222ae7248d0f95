// tests/distributed/rounds_test.cpp -- words and their probabilities are the same, to the last bit,
// on as many replicas as there are ranks and on as many stages.
//
// Rows once moved up when a sentence ended, some of them to another replica, where nothing was
// known of them: they were made again as a whole, and rounded otherwise than position by position.
#include "runtime/engine/decoding/rounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "runtime/engine/decoding/generator.h"
#include "runtime/engine/decoding/translator.h"
#include "runtime/planning/blueprint/blueprint.h"
#include "tests/distributed/main.h"

namespace penstock {
namespace {

constexpr int64_t kPieces = 24;

std::vector<std::string> sentences(uint32_t first, uint32_t count) {
  std::vector<std::string> all;
  for (uint32_t i = first; i < first + count; ++i) {
    std::string sentence;
    for (uint32_t w = 0; w < 1 + i * 7 % 6; ++w) {
      sentence += std::string(w > 0 ? " " : "") + static_cast<char>('a' + (i * 31 + w * 17) % 11);
    }
    all.push_back(sentence);
  }
  return all;
}

// A file that every rank writes for itself.
class OwnVocabulary {
 public:
  explicit OwnVocabulary(int rank)
      : path_(std::filesystem::temp_directory_path() /
              ("rounds-" + std::to_string(getppid()) + "-" + std::to_string(rank) + ".model")) {
    std::ofstream(path_, std::ios::binary)
        << train_pieces(sentences(0, 300), {.size = kPieces, .control = {"<2yy>"}});
  }
  ~OwnVocabulary() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  OwnVocabulary(const OwnVocabulary&) = delete;
  OwnVocabulary& operator=(const OwnVocabulary&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

struct Said {
  std::vector<std::string> texts;
  std::vector<double> scores;
};

class Words : public testing::TestWithParam<bool> {  // with the cache?
 protected:
  // A network whose ranks are replicas or stages of it, ready for rounds.
  struct Built {
    Config config;
    Grid grid;
    std::unique_ptr<Network> network;
    std::unique_ptr<Blueprint> blueprint;
    std::unique_ptr<Pipeline> pipeline;
  };
  [[nodiscard]] Built build(const std::string& kind, bool replicated, int64_t context = 14) {
    Built built;
    ModelConfig& model = built.config.model;
    model.kind = kind;
    model.layers = 3;
    model.width = 24;
    model.heads = 2;
    model.hidden = 40;
    model.context = context;
    model.vocabulary = kPieces;
    built.config.data.kind = "parallel";
    built.config.data.pairs = {"xx-yy"};
    built.config.data.vocabulary = vocabulary_.path();
    PipelineConfig& pipeline = built.config.pipeline;
    pipeline.micro_batches = 2;
    built.config.run.eval_batch = 3;
    (replicated ? pipeline.replicas : pipeline.stages) = session_.ranks();
    built.grid = {.positions = pipeline.stages, .replicas = pipeline.replicas};
    built.network = make_mpi_network(session_, built.grid);
    built.blueprint =
        std::make_unique<Blueprint>(draw_up(built.config, built_in_models(), kPieces, 0));
    built.pipeline = std::make_unique<Pipeline>(built.config, *built.blueprint, built.grid,
                                                *built.network, *device_);
    scale_weights(*built.pipeline);
    return built;
  }
  // A network that knows nothing says the same of everything: larger weights, other words, and an
  // end here and there.
  static void scale_weights(Pipeline& pipeline) {
    for (StateEntry* entry : pipeline.state()) {
      for (float& x : entry->value.span<float>()) x *= 3.0F;
      entry->changed();
    }
  }
  [[nodiscard]] Said translated(bool replicated, int beams, int64_t context = 14) {
    Built built = build("transformer-nmt", replicated, context);
    Rounds rounds(built.config, *built.pipeline, built.blueprint->model, *built.network, *device_,
                  GetParam());
    Translator translator(built.config, {.target = "yy", .beams = beams}, rounds);
    Said said;
    said.texts = translator.translate(sentences(1000, 23));
    said.scores = translator.scores();
    built.pipeline->drain();
    return said;
  }
  using Texts = std::vector<std::vector<int32_t>>;
  [[nodiscard]] Texts generated(bool replicated) {
    Texts prompts = {{0}};  // which the next one goes on from
    prompts.reserve(10);
    for (int32_t i = 0; i < 9; ++i) prompts.push_back({i, (i * 5 + 1) % 20});
    return generated(build("transformer-lm", replicated), prompts,
                     {.tokens = 9, .samples = 2, .sampling = {}});
  }
  [[nodiscard]] Texts generated(const Built& built, const Texts& prompts,
                                const GenerationOptions& how) {
    Rounds rounds(built.config, *built.pipeline, built.blueprint->model, *built.network, *device_,
                  GetParam());
    Generator generator(built.config, how, kPieces, rounds);
    Texts samples(static_cast<size_t>(how.samples) * prompts.size());
    (void)generator.generate(prompts, [&](size_t sample, std::span<const int32_t> tokens, bool) {
      samples[sample].assign(tokens.begin(), tokens.end());
    });
    built.pipeline->drain();
    return samples;
  }

  const Session& session_ = test_session();
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  OwnVocabulary vocabulary_{session_.rank()};
};

TEST_P(Words, OfTranslationsAndTheirProbabilitiesDoNotDependOnReplicas) {
  for (const int beams : {1, 2, 3}) {
    // Rows of the whole context, and of fewer positions.
    const int64_t context = beams == 3 ? 40 : 14;
    const Said stages = translated(false, beams, context);
    const Said replicas = translated(true, beams, context);
    EXPECT_EQ(replicas.texts, stages.texts) << beams;
    EXPECT_EQ(replicas.scores, stages.scores) << beams;
    if (session_.rank() != 0) continue;
    ASSERT_EQ(stages.texts.size(), 23U);
    const auto length = [](const std::string& text) { return text.size(); };
    EXPECT_LT(std::ranges::min(stages.texts, {}, length).size() + 6,
              std::ranges::max(stages.texts, {}, length).size())
        << "sentences end one after another";
  }
}

TEST_P(Words, OfGeneratedTextsDoNotDependOnReplicas) {
  const auto stages = generated(false);
  EXPECT_EQ(generated(true), stages);
}

// All of them were kept until the last was shown.
TEST_P(Words, OfTextsThatWereShownAreNotKept) {
  constexpr size_t kLength = 1000;
  constexpr size_t kMostBytes = size_t{8} << 20;  // all texts come to ten times as much
  const auto heap = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const Built built = build("transformer-lm", false);
  Rounds rounds(built.config, *built.pipeline, built.blueprint->model, *built.network, *device_,
                GetParam());
  Generator generator(built.config, {.tokens = 0, .samples = 20'000, .sampling = {}}, kPieces,
                      rounds);
  const size_t before = heap();
  size_t most = before, shown = 0;
  const auto show = [&](size_t /*sample*/, std::span<const int32_t> /*tokens*/, bool /*done*/) {
    ++shown;
    most = std::max(most, heap());
  };
  Texts prompts;
  if (session_.rank() == 0) prompts.emplace_back(kLength, 1);
  (void)generator.generate(prompts, show);
  built.pipeline->drain();
  EXPECT_EQ(shown, prompts.size() * 20'000);
  EXPECT_LT(most - before, kMostBytes);
}

// Prompts of 3 to 90 words for a network that sees 80: rows of 32, 64 and 80 positions in a round.
TEST_P(Words, OfAPromptDoNotDependOnLongerAndShorterOnesBesideIt) {
  Texts prompts;
  for (const int32_t words : {3, 40, 70, 33, 90, 31, 5}) {
    std::vector<int32_t>& prompt = prompts.emplace_back();
    for (int32_t i = 0; i < words; ++i) prompt.push_back((i * i + words) % kPieces);
  }
  const GenerationOptions how = {.tokens = 12, .sampling = {.temperature = 0.0}};
  const Texts together = generated(build("transformer-lm", false, 80), prompts, how);
  EXPECT_EQ(generated(build("transformer-lm", true, 80), prompts, how), together);
  for (size_t p = 0; p < prompts.size(); ++p) {
    const Texts alone = generated(build("transformer-lm", false, 80), {prompts[p]}, how);
    EXPECT_EQ(alone[0], together[p]) << p;
  }
}

// The network once ran over all 512 positions for the first word behind three.
TEST_P(Words, BehindAFewTakeTheMemoryOfAFew) {
  const auto bytes_for = [&](size_t words) {
    Built built = build("transformer-lm", false, 512);
    Rounds rounds(built.config, *built.pipeline, built.blueprint->model, *built.network, *device_,
                  GetParam());
    std::vector<Row> rows;
    if (session_.rank() == 0) rows.push_back({.words = std::vector<int32_t>(words, 1)});
    device_->memory().reset_peaks();
    (void)rounds.next(rows, 1, [](std::span<const float>, const Row&) {
      return std::vector<NextWord>{{0, 0.0}};
    });
    built.pipeline->drain();
    // But for what stays, the past.
    return device_->memory().use().total_peak - device_->memory().use().total_current;
  };
  EXPECT_LT(4 * bytes_for(3), bytes_for(500));
}

// Seven beams of a sentence do not fit the six rows of a replica, however many replicas there are.
TEST_P(Words, OfOneSentenceAreOnOneReplica) {
  Built built = build("transformer-nmt", true);
  Rounds rounds(built.config, *built.pipeline, built.blueprint->model, *built.network, *device_,
                GetParam());
  EXPECT_NO_THROW(Translator(built.config, {.target = "yy", .beams = 6}, rounds));
  try {
    (void)Translator(built.config, {.target = "yy", .beams = 7}, rounds);
    ADD_FAILURE() << "seven rows on six places";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_THAT(error.what(), testing::HasSubstr("1 to 6 rows of a sentence"));
  }
}

INSTANTIATE_TEST_SUITE_P(Cache, Words, testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "on" : "off"); });

}  // namespace
}  // namespace penstock
