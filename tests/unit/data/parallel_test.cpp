// Parallel text: what a sample holds, which sentences count, and how languages share an epoch.
#include "runtime/data/datasets/translation/parallel.h"

#include <filesystem>
#include <map>
#include <set>

#include "fixtures.h"
#include "runtime/data/datasets/loader.h"
#include "runtime/data/datasets/translation/synthetic_pairs.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "tests/support/temporary_folder.h"

namespace penstock {
namespace {

using test::expect_error;
using test::PairSample;
using test::read_pair;

constexpr int64_t kContext = 32;

SampleShape of_context(int64_t context) {
  SampleShape shape;
  shape.context = context;
  return shape;
}

SampleShape of_synthetic_pairs(int64_t context, int64_t vocabulary) {
  SampleShape shape = of_context(context);
  shape.input = {context};
  shape.classes = vocabulary;
  shape.parallel = true;
  return shape;
}

class Parallel : public testing::Test {
 protected:
  void write(const std::string& language, const std::vector<std::string>& lines) {
    test::write_file(folder_ / ("train." + language), test::joined_lines(lines));
  }
  // Sentences of `n` lines in each of the languages.
  DataConfig config(const std::map<std::string, int>& lines,
                    const std::vector<std::string>& pairs) {
    for (const auto& [language, n] : lines) {
      write(language, test::sentences(hash_name(language), n, 4));
    }
    DataConfig config;
    config.kind = "parallel";
    config.train = folder_ / "train.{language}";
    config.pairs = pairs;
    config.vocabulary_size = 90;
    config.vocabulary = provide_vocabulary(config, folder_ / "");
    return config;
  }
  static const ParallelDataset& parallel(const std::shared_ptr<const Dataset>& set) {
    return dynamic_cast<const ParallelDataset&>(*set);
  }
  TemporaryFolder folder_;
};

std::vector<int32_t> with(std::vector<int32_t> head, const std::vector<int32_t>& ids,
                          const std::vector<int32_t>& tail, int32_t padding) {
  head.insert(head.end(), ids.begin(), ids.end());
  head.insert(head.end(), tail.begin(), tail.end());
  head.resize(kContext, padding);
  return head;
}

TEST_F(Parallel, SamplesHoldBothSentencesMarkedAndPadded) {
  const DataConfig config = this->config({{"en", 60}, {"de", 60}}, {"en-de"});
  const Datasets sets = open_datasets(config, of_context(kContext), 1);
  const Pieces pieces(config.vocabulary);
  const auto english = test::sentences(hash_name("en"), 60, 4);
  const auto german = test::sentences(hash_name("de"), 60, 4);
  ASSERT_EQ(sets.train->size(), 60);
  EXPECT_EQ(sets.vocabulary, 90);
  for (const size_t i : {size_t{0}, size_t{17}, size_t{59}}) {
    const PairSample sample = read_pair(*sets.train, static_cast<int64_t>(i), i);
    const auto source = pieces.encode(english[i]);
    const auto target = pieces.encode(german[i]);
    EXPECT_EQ(sample.source, with({*pieces.find("<2de>")}, source, {pieces.end()}, 0));
    EXPECT_EQ(sample.source_length, static_cast<int32_t>(source.size()) + 2);
    EXPECT_EQ(sample.target, with({pieces.begin()}, target, {}, 0));
    EXPECT_EQ(sample.labels, with({}, target, {pieces.end()}, -1));
  }
}

TEST_F(Parallel, ReadsOnlyTheFieldsThatAreWanted) {
  const Datasets sets =
      open_datasets(config({{"en", 60}, {"de", 60}}, {"en-de"}), of_context(kContext), 1);
  int32_t length = -7;
  const std::array<void*, 4> out = {nullptr, &length, nullptr, nullptr};
  sets.train->read(3, test::stream(0), out);
  EXPECT_EQ(length, read_pair(*sets.train, 3).source_length);
}

TEST_F(Parallel, LeavesOutWhatIsEmptyOrTooLong) {
  auto english = test::sentences(1, 60, 4);
  auto german = test::sentences(2, 60, 4);
  const DataConfig before = config({{"en", 60}, {"de", 60}}, {"en-de"});
  english[5].clear();
  german[6].clear();
  std::string endless;
  for (int i = 0; i < 40; ++i) endless += german[0] + " ";
  german[7] = endless;
  write("en", english);
  write("de", german);
  DataConfig config = before;
  const Datasets sets = open_datasets(config, of_context(kContext), 1);
  EXPECT_EQ(sets.train->size(), 57);
  EXPECT_NE(sets.note.find("1 too long, 2 empty"), std::string::npos) << sets.note;
  config.validation = config.train;
  const std::string both = open_datasets(config, of_context(kContext), 1).note;
  EXPECT_NE(both.find("; left out: 1 too long, 2 empty; left out of the validation data: 1 too "
                      "long, 2 empty"),
            std::string::npos)
      << both;
  config.validation = before.validation;
  config.longest = 6;
  const Datasets shorter = open_datasets(config, of_context(kContext), 1);
  EXPECT_LT(shorter.train->size(), 57);
  for (int64_t i = 0; i < shorter.train->size(); ++i) {
    EXPECT_LE(read_pair(*shorter.train, i).source_length, 6 + 2);
  }
  // The longest that fits fills the context to the last token.
  const Pieces pieces(config.vocabulary);
  const auto tokens = static_cast<int64_t>(
      std::max(pieces.encode(english[0]).size() + 2, pieces.encode(german[0]).size() + 1));
  config.longest = 0;
  write("en", {english[0]});
  write("de", {german[0]});
  EXPECT_EQ(open_datasets(config, of_context(tokens), 1).train->size(), 1);
  expect_error(ErrorKind::Input, {"model.context = " + std::to_string(tokens - 1)},
               [&] { (void)open_datasets(config, of_context(tokens - 1), 1); });
}

TEST_F(Parallel, SplitsAShareOffEveryPair) {
  DataConfig config = this->config({{"en", 60}, {"de", 60}, {"fr", 60}}, {"en-de", "fr-en"});
  config.validation = "0.25";
  const Datasets sets = open_datasets(config, of_context(kContext), 1);
  EXPECT_EQ(sets.train->size(), 90);
  EXPECT_EQ(sets.validation->size(), 30);
  EXPECT_EQ(parallel(sets.validation).pairs()[1].lines.front(), 45U);
  EXPECT_EQ(parallel(sets.validation).pairs()[1].name, "fr-en");
}

TEST_F(Parallel, ReadsAFileOnceWhereverItIsUsed) {
  DataConfig config = this->config({{"en", 60}, {"de", 60}, {"fr", 60}}, {"en-de", "en-fr"});
  config.validation = config.train;
  const Datasets sets = open_datasets(config, of_context(kContext), 1);
  const auto& pairs = parallel(sets.train).pairs();
  EXPECT_EQ(pairs[0].source, pairs[1].source);
  EXPECT_EQ(pairs[0].source, parallel(sets.validation).pairs()[1].source);
}

TEST_F(Parallel, TemperatureLevelsTheLanguages) {
  DataConfig config = this->config({{"en", 300}, {"de", 300}}, {"en-de"});
  const auto shares = [&](double temperature, size_t large, size_t small) {
    const Datasets sets = open_datasets(config, of_context(kContext), 1);
    PairCorpus a = parallel(sets.train).pairs()[0];
    PairCorpus b = a;
    a.lines.resize(large);
    b.lines.resize(small);
    const ParallelDataset both({a, b}, std::make_shared<Pieces>(config.vocabulary), kContext,
                               temperature);
    EXPECT_EQ(both.size(), static_cast<int64_t>(large + small));
    return both.first(1);
  };
  EXPECT_EQ(shares(1.0, 256, 16), 256);
  EXPECT_EQ(shares(2.0, 256, 16), 218);    // 272 * 16 / (16 + 4)
  EXPECT_EQ(shares(4.0, 256, 16), 181);    // 272 * 4 / (4 + 2)
  EXPECT_EQ(shares(100.0, 256, 16), 138);  // nearly half
}

TEST_F(Parallel, AnEpochSpreadsOverAllOfAPair) {
  const DataConfig config = this->config({{"en", 300}, {"de", 300}}, {"en-de"});
  const Datasets sets = open_datasets(config, of_context(kContext), 1);
  PairCorpus large = parallel(sets.train).pairs()[0];
  PairCorpus small = large;
  large.lines.resize(200);
  small.lines.erase(small.lines.begin(), small.lines.begin() + 290);  // 10 of them
  const ParallelDataset set({large, small}, std::make_shared<Pieces>(config.vocabulary), kContext,
                            5.0);
  // The sentences that `draws` epochs see, by their source tokens, and how often.
  const auto seen = [&](int64_t first, int64_t last, uint64_t draws) {
    std::map<std::vector<int32_t>, int> counts;
    for (uint64_t epoch = 0; epoch < draws; ++epoch) {
      for (int64_t i = first; i < last; ++i) {
        ++counts[read_pair(set, i, epoch * 1000 + static_cast<uint64_t>(i)).source];
      }
    }
    return counts;
  };
  const int64_t middle = set.first(1);
  ASSERT_LT(middle, 150);  // the large one is seen in part,
  const size_t once = seen(0, middle, 1).size();
  EXPECT_GT(once, static_cast<size_t>(middle) * 8 / 10);
  EXPECT_GT(seen(0, middle, 20).size(), once + 40);  // another part in each epoch,
  for (const auto& [source, count] : seen(middle, set.size(), 1)) {
    EXPECT_GE(count, (set.size() - middle) / 10) << "and the small one evenly";
  }
}

// The same samples in the same order for every way to cut a mini-batch.
TEST_F(Parallel, OrderDoesNotDependOnReplicasOrMicroBatches) {
  const DataConfig config = this->config({{"en", 70}, {"de", 70}, {"fr", 70}}, {"en-de", "en-fr"});
  const Datasets sets = open_datasets(config, of_context(kContext), 1);
  Memory host(host_memory_source());
  const auto order = [&](int replicas, int micro_batches, int64_t size) {
    std::map<int64_t, std::vector<int32_t>> all;
    for (int replica = 0; replica < replicas; ++replica) {
      Loader loader(sets.train,
                    {.fields = {"labels"},
                     .micro_batch_size = size,
                     .micro_batches = micro_batches,
                     .replica = replica,
                     .replicas = replicas,
                     .seed = 3},
                    host);
      for (int64_t step = 0; step < 20; ++step) {
        const auto batches = loader.next();
        for (int m = 0; m < micro_batches; ++m) {
          const auto labels = batches[static_cast<size_t>(m)].field("labels").span<int32_t>();
          all[(step * replicas + replica) * micro_batches + m] = {labels.begin(), labels.end()};
        }
      }
    }
    std::vector<int32_t> flat;
    for (const auto& [place, labels] : all) flat.insert(flat.end(), labels.begin(), labels.end());
    return flat;
  };
  const auto one = order(1, 1, 12);
  EXPECT_EQ(order(1, 4, 3), one);
  EXPECT_EQ(order(2, 3, 2), one);
}

TEST_F(Parallel, RefusesWhatDoesNotMatch) {
  DataConfig config = this->config({{"en", 60}, {"de", 60}, {"fr", 60}}, {"en-de", "en-fr"});
  const auto open = [&] { (void)open_datasets(config, of_context(kContext), 1); };
  write("fr", test::sentences(1, 59));
  expect_error(ErrorKind::Input, {"train.en has 60", "train.fr", "59"}, open);
  write("fr", {});
  expect_error(ErrorKind::Input, {"train.fr is empty"}, open);
  config.pairs = {"en-de"};
  config.train = folder_ / "train.en";
  expect_error(ErrorKind::Input, {"{language}"}, open);
  for (const std::string pair : {"en", "-de", "en-", "en-de-fr", "en-<de>"}) {
    config.pairs = {pair};
    expect_error(ErrorKind::Input, {"data.pairs", "'" + pair + "'"}, open);
  }
  config.pairs = {"en-en"};
  expect_error(ErrorKind::Input, {"data.pairs", "'en-en' translates a language into"}, open);
  config.pairs = {"en-de", "en-de"};
  expect_error(ErrorKind::Input, {"data.pairs has 'en-de' twice"}, open);
  config.pairs = {};
  expect_error(ErrorKind::Input, {"data.pairs is missing"}, open);
}

TEST_F(Parallel, SaysWhyNoPairCanBeLearnt) {
  DataConfig config = this->config({{"en", 60}, {"de", 60}}, {"en-de"});
  const auto refused = [&](const std::vector<std::string>& parts) {
    expect_error(ErrorKind::Input, parts,
                 [&] { (void)open_datasets(config, of_context(kContext), 1); });
  };
  config.longest = 1;
  refused({"train.en", "of 60 pairs 60 do not fit data.longest = 1", "raise data.longest"});
  config.longest = 0;
  write("en", std::vector<std::string>(60));
  refused({"train.en", "of 60 pairs 60 have an empty side: see whether"});
  std::string endless;
  for (const std::string& sentence : test::sentences(1, 60, 4)) endless += sentence + " ";
  std::vector<std::string> lines(60);
  lines[3] = endless;
  write("en", lines);
  refused({"59 have an empty side, 1 do not fit model.context = " + std::to_string(kContext),
           "raise model.context"});
}

TEST_F(Parallel, SeveralTargetLanguagesNeedTheirTags) {
  DataConfig config = this->config({{"en", 60}, {"de", 60}, {"fr", 60}}, {"en-de"});
  config.pairs = {"en-de", "en-fr"};  // the vocabulary knows only <2de>
  expect_error(ErrorKind::Input, {"<2fr>", "data.vocabulary"},
               [&] { (void)open_datasets(config, of_context(kContext), 1); });
  config.pairs = {"de-en"};
  const Datasets sets = open_datasets(config, of_context(kContext), 1);
  EXPECT_EQ(parallel(sets.train).pairs()[0].tag, -1) << "one target language needs none";
}

TEST(CorpusPath, NamesTheFilesOfAPair) {
  const LanguagePair pair = language_pairs({"en-zh_CN"})[0];
  EXPECT_EQ(corpus_path("{pair}/a.{language}.gz", pair, pair.target), "en-zh_CN/a.zh_CN.gz");
  EXPECT_EQ(pair.tag(), "<2zh_CN>");
}

TEST(SyntheticSentences, AreSamplesLikeRealOnes) {
  const Datasets sets = open_datasets({.kind = "synthetic"}, of_synthetic_pairs(9, 20), 5);
  std::set<int32_t> lengths;
  for (int64_t i = 0; i < 200; ++i) {
    const PairSample sample = read_pair(*sets.train, i);
    lengths.insert(sample.source_length);
    const auto real =
        static_cast<size_t>(std::ranges::find(sample.labels, -1) - sample.labels.begin());
    ASSERT_GE(real, 2U);
    ASSERT_EQ(sample.labels[real - 1], 3);
    for (size_t t = 0; t + 1 < real; ++t) ASSERT_EQ(sample.target[t + 1], sample.labels[t]);
    for (const int32_t id : sample.source) ASSERT_TRUE(id >= 0 && id < 20);
  }
  EXPECT_EQ(*lengths.begin(), 2);
  EXPECT_EQ(*lengths.rbegin(), 9);
  EXPECT_EQ(read_pair(*sets.train, 3).source, read_pair(*sets.train, 3).source);
  expect_error(ErrorKind::Input, {"model.vocabulary"},
               [&] { (void)open_datasets({.kind = "synthetic"}, of_synthetic_pairs(9, 3), 5); });
}

}  // namespace
}  // namespace penstock
