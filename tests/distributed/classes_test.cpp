// Networks that tell classes of images, from folders to predictions: names, accuracy, confusion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/distributed/job.h"
#include "tests/support/temporary_folder.h"
#include "tests/unit/data/fixtures.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRunFile = R"([model]
kind = "resnet"
depth = 8
width = 8
image = [3, 8, 8]
[data]
kind = "images"
train = "set"
validation = "set"
[optimizer]
kind = "adamw"
learning_rate = 1e-2
[pipeline]
micro_batches = 2
micro_batch_size = 3
[run]
steps = 25
threads = 1
trace = 0
)";

class Classes : public testing::Test {
 protected:
  // Colours under their names, several images of each.
  void SetUp() override {
    put("set", "red", {230, 20, 20});
    put("set", "green", {20, 220, 20});
    put("set", "blue", {20, 20, 230});
    run_file_ = scratch_.write("run.toml", kRunFile);
  }
  void put(const std::string& set, const std::string& name, const std::vector<uint8_t>& colour) {
    for (int i = 0; i < 4; ++i) {
      std::vector<uint8_t> shade = colour;
      for (uint8_t& value : shade) value = static_cast<uint8_t>(value - 5 * i);
      const std::string file = set + "/" + name + "/" + std::to_string(i);
      (void)scratch_.write(file + ".jpg", test::plain_jpeg(8, 8, shade));
    }
  }
  std::string train() {
    const JobResult job = run_alone("train " + run_file_ + " --out " + run_);
    EXPECT_EQ(job.exit_code, 0) << job.output;
    return job.output;
  }
  // What `--json` answers, among what is said on the other stream.
  static nlohmann::json json_in(const JobResult& job) {
    const size_t begin = job.output.find("{\"checkpoint\"");
    if (begin == std::string::npos) return job.output;
    return nlohmann::json::parse(job.output.substr(begin, job.output.find('\n', begin) - begin));
  }
  std::string file(const std::string& name) { return " " + scratch_ / "set/" + name; }
  void refused(const std::string& command, int exit_code, const std::vector<std::string>& parts) {
    const JobResult job = run_alone(command);
    EXPECT_EQ(job.exit_code, exit_code) << job.output;
    for (const std::string& part : parts) EXPECT_THAT(job.output, HasSubstr(part));
  }

  TemporaryFolder scratch_;
  std::string run_file_, run_ = scratch_ / "run";
};

TEST_F(Classes, AreToldByNameFromTheFolderToThePrediction) {
  (void)scratch_.write("set/grey/0.webp", "x");
  EXPECT_THAT(train(), AllOf(HasSubstr("images      12 images in 3 classes of "),
                             HasSubstr("/set: blue, green, red\n"), HasSubstr(": 1 .webp\n"),
                             HasSubstr("which are no classes: grey\n")));
  // Neither the folder nor its place is needed.
  std::filesystem::rename(scratch_ / "set", scratch_ / "other");
  const std::string files = " " + scratch_ / "other/red/0.jpg" + " " +
                            scratch_ / "other/blue/2.jpg" + " " + scratch_ / "other/green/1.jpg" +
                            " " + scratch_ / "other/red/3.jpg";
  const std::string told = run_alone("predict " + run_ + files).output;
  EXPECT_THAT(told, testing::MatchesRegex("[^ ]*red/0.jpg    red     +[0-9.]+ %\n"
                                          "[^ ]*blue/2.jpg   blue    +[0-9.]+ %\n"
                                          "[^ ]*green/1.jpg  green   +[0-9.]+ %\n"
                                          "[^ ]*red/3.jpg    red     +[0-9.]+ %\n"));
  for (const char* how : {" --stages 2", " --replicas 2", " --stages 2 --micro-batches 1"}) {
    EXPECT_EQ(run_penstock(2, "predict " + run_ + files + how).output, told) << how;
  }
  const auto json = nlohmann::json::parse(run_alone("predict --json " + run_ + files).output);
  ASSERT_EQ(json.at("images").size(), 4U);
  const auto& second = json.at("images")[1];
  EXPECT_EQ(second.at("class"), "blue");
  EXPECT_EQ(second.at("label"), 0);
  EXPECT_EQ(second.at("best").size(), 3U);
  double all = 0.0;
  for (const auto& one : second.at("best")) all += one.at("probability").get<double>();
  EXPECT_NEAR(all, 1.0, 1e-6);
}

TEST_F(Classes, AreEvaluatedByAccuracyAndConfusion) {
  (void)train();
  // Two of the reds under another name.
  for (const char* name : {"0", "1"}) {
    const std::string from = scratch_ / "set/red/" + name + ".jpg";
    std::filesystem::rename(from, scratch_ / "set/blue/red" + name + ".jpg");
  }
  const JobResult plain = run_alone("eval " + run_);
  EXPECT_THAT(plain.output, AllOf(HasSubstr(": 12 targets, loss "), HasSubstr("accuracy 83.33 %\n"),
                                  Not(HasSubstr("perplexity")), Not(HasSubstr("top-5"))));
  const std::string table =
      "taken for 0 1 2   right\n"
      "0 blue    4 0 2  66.7 %\n"
      "1 green   0 4 0 100.0 %\n"
      "2 red     0 0 2 100.0 %\n";
  EXPECT_THAT(run_alone("eval " + run_ + " --confusion").output, testing::EndsWith(table));
  EXPECT_THAT(run_penstock(2, "eval " + run_ + " --confusion --replicas 2").output,
              testing::EndsWith(table));
  const auto json = nlohmann::json::parse(run_alone("eval --json --confusion " + run_).output);
  EXPECT_EQ(json.at("classes"), (std::vector<std::string>{"blue", "green", "red"}));
  EXPECT_EQ(json.at("confusion")[0].dump(), "[4,0,2]") << "counts are whole numbers";
  EXPECT_TRUE(json.at("targets").is_number_integer()) << json.at("targets");
  EXPECT_NEAR(json.at("top_1").get<double>(), 10.0 / 12.0, 1e-12);
  EXPECT_FALSE(json.contains("perplexity") || json.contains("top_5"));
}

// With five classes or fewer every label is among the top five, so that share is left out.
TEST_F(Classes, AreCountedAmongFiveWhereThereAreMore) {
  put("set", "white", {230, 230, 230});
  put("set", "black", {20, 20, 20});
  const std::string train = "train " + run_file_ + " --steps 1 --overwrite --out " + run_;
  ASSERT_EQ(run_alone(train).exit_code, 0);
  EXPECT_THAT(run_alone("eval " + run_).output, Not(HasSubstr("top-5")));
  put("set", "pink", {230, 120, 130});
  ASSERT_EQ(run_alone(train).exit_code, 0);
  EXPECT_THAT(run_alone("eval " + run_).output, HasSubstr(" %, top-5 "));
  EXPECT_TRUE(nlohmann::json::parse(run_alone("eval --json " + run_).output).contains("top_5"));
}

TEST_F(Classes, ThatAreOthersAreRefusedByName) {
  refused("train " + run_file_ + " --model.classes 10 --out " + run_, 2,
          {"set has 3 classes (blue, green, red)", "model.classes = 10", "give model.classes = 3"});
  EXPECT_FALSE(std::filesystem::exists(run_ + "/run.toml"));
  (void)train();
  std::filesystem::rename(scratch_ / "set/green", scratch_ / "set/gruen");
  const std::string others = "number 1 is \"gruen\", and \"green\" in ";
  refused("eval " + run_, 2, {"has other classes", others});
  refused("train " + run_ + " --resume auto --steps 30", 2, {"has other classes", others});
}

// Such networks once trained, and were refused by predict, or ended in their first step.
TEST_F(Classes, OfALayerListAreComparedWithThoseOfTheData) {
  const std::string rest = std::string(kRunFile).substr(std::string(kRunFile).find("[data]"));
  const auto list = [&](const std::string& classifier) {
    return scratch_.write("list.toml",
                          "[model]\nkind = \"sequential\"\nimage = [3, 8, 8]\nlayers = [{kind = "
                          "\"flatten\"}, {kind = \"classifier\"" +
                              classifier + "}]\n" + rest);
  };
  for (const char* number : {"9", "2"}) {
    refused("train " + list(std::string(", classes = ") + number) + " --out " + run_, 2,
            {"set has 3 classes (blue, green, red), and the network is made for " +
             std::string(number) +
             ", which its last layer 'layers.1' tells apart: make it as many (in a layer "
             "list leave `classes` out)"});
    EXPECT_FALSE(std::filesystem::exists(run_ + "/run.toml"));
  }
  refused("train " + list(", classes = 3") +
              " --data.kind synthetic --data.train= --data.validation= --model.classes 5 --out " +
              run_,
          2,
          {"data.kind = \"synthetic\" has 5 classes, and the network is made for 3",
           "or give model.classes = 3"});
  const JobResult fits = run_alone("train " + list(", classes = 3") + " --steps 1 --out " + run_);
  EXPECT_EQ(fits.exit_code, 0) << fits.output;
}

TEST_F(Classes, OfALayerListAreAtLeastTheTokensOfTheData) {
  (void)scratch_.write("text.txt", std::string(4000, 'a'));
  const auto list = [&](const std::string& classes) {
    return scratch_.write("list.toml",
                          "[model]\nkind = \"sequential\"\ncontext = 8\nlayers = [{kind = "
                          "\"embedding\", width = 4}, {kind = \"classifier\", classes = " +
                              classes +
                              "}]\n[data]\nkind = \"text\"\ntrain = \"text.txt\"\n[pipeline]\n"
                              "micro_batches = 1\n[run]\nsteps = 1\nthreads = 1\n");
  };
  refused("train " + list("90") + " --out " + run_, 2,
          {"text.txt has 256 tokens, and the network is made for 90, which its last layer",
           "or give model.vocabulary = 90"});
  EXPECT_FALSE(std::filesystem::exists(run_ + "/run.toml"));
  const JobResult padded = run_alone("train " + list("300") + " --out " + run_);
  EXPECT_EQ(padded.exit_code, 0) << padded.output;
}

// It once told a loss of nan and an accuracy, and ended with 0.
TEST_F(Classes, AreNotToldOfLogitsThatAreNoNumbers) {
  (void)train();
  const std::string blinding = " --data.std 1e-38,1e-38,1e-38";
  refused("eval " + run_ + blinding, 2, {"the network's logits are not numbers"});
  const std::string files = file("red/0.jpg") + file("green/0.jpg") + file("blue/0.jpg");
  refused("predict " + run_ + files + blinding, 2, {"the network's logits are not numbers"});
}

TEST_F(Classes, OfWhatIsNoImageAreRefused) {
  (void)train();
  refused("predict " + run_, 2, {"predict needs a run directory and the files"});
  refused("predict " + run_ + file("red/9.jpg"), 2, {"penstock: error: ", "red/9.jpg"});
  (void)scratch_.write("set/red/9.jpg", "GIF89a");
  refused("predict " + run_ + file("red/9.jpg"), 5, {"penstock: error: ", "9.jpg is a GIF image"});
  const JobResult two = run_penstock(2, "predict " + run_ + file("red/9.jpg") + " --stages 2");
  EXPECT_EQ(two.exit_code, 5) << two.output;
}

// One that is missing once took the others' answers with it.
TEST_F(Classes, OfOtherFilesAreToldWhereOneCannotBeRead) {
  (void)train();
  (void)scratch_.write("set/red/9.jpg", "GIF89a");
  const std::string files =
      file("red/0.jpg") + file("nowhere.jpg") + file("red/9.jpg") + file("blue/0.jpg");
  refused("predict " + run_ + files, 2,
          {"red/0.jpg", "penstock: warning: ", "nowhere.jpg: No such file", "9.jpg is a GIF image",
           "blue/0.jpg", "penstock: error: 2 of 4 images could not be read"});
  refused("predict " + run_ + file("red/9.jpg") + file("nowhere.jpg"), 5, {"2 of 2 images"});
  for (const int ranks : {1, 2}) {
    const std::string replicas = " --replicas " + std::to_string(ranks);
    const JobResult job = run_penstock(ranks, "predict --json " + run_ + files + replicas);
    EXPECT_EQ(job.exit_code, 2) << job.output;
    const auto json = json_in(job);
    ASSERT_EQ(json.at("images").size(), 2U);
    EXPECT_EQ(json.at("images")[1].at("class"), "blue");
    ASSERT_EQ(json.at("not_read").size(), 2U);
    EXPECT_THAT(json.at("not_read")[0].at("why").get<std::string>(), HasSubstr("nowhere.jpg"));
  }
}

TEST_F(Classes, AreToldOfFilesThatLookLikeOptions) {
  (void)train();
  for (const char* name : {"-dash.jpg", "--stages", "-h", "--"}) {
    std::filesystem::copy(scratch_ / "set/red/0.jpg", scratch_ / "set/red/" + name);
  }
  const JobResult job =
      run_words("env -C " + (scratch_ / "set/red") + " " + penstock_program() + " predict " + run_ +
                    " 1.jpg --json -- -dash.jpg --stages -h --",
                60);
  ASSERT_EQ(job.exit_code, 0) << job.output;
  const auto json = json_in(job);
  std::vector<std::string> named;
  for (const auto& image : json.at("images")) named.push_back(image.at("file"));
  EXPECT_THAT(named, testing::ElementsAre("1.jpg", "-dash.jpg", "--stages", "-h", "--"));
}

TEST_F(Classes, WithoutNamesAreToldByNumber) {
  (void)train();
  std::filesystem::remove(run_ + "/classes.json");
  const JobResult job = run_alone("predict " + run_ + file("blue/0.jpg"));
  EXPECT_THAT(job.output, AllOf(HasSubstr("penstock: note: classes are told by their numbers"),
                                HasSubstr("classes.json"), HasSubstr("blue/0.jpg  0  ")));
  const auto json = json_in(run_alone("predict --json " + run_ + file("blue/0.jpg")));
  EXPECT_EQ(json.at("images")[0].at("class"), 0);
  EXPECT_EQ(json.at("images")[0].at("best")[0].at("class"), 0);
}

}  // namespace
}  // namespace penstock
