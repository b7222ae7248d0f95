// Networks that tell a class for each pixel, from a folder of images and masks to their overlap;
// and what is refused in one line before anything is trained.
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

constexpr int kSide = 8;

constexpr const char* kMaskRunFile = R"([model]
kind = "unet"
layers = 1
filters = 8
image = [3, 8, 8]
classes = 0
per_pixel = true
[data]
kind = "masks"
train = "set"
validation = "set"
flip = true
[optimizer]
kind = "adamw"
learning_rate = 1e-2
[pipeline]
micro_batches = 2
micro_batch_size = 3
[run]
steps = 40
threads = 1
trace = 0
)";

// An image of two colours, the left one `red` wide, and the mask that says which is where; the last
// row is no target.
struct Pair {
  std::string image, mask;
};
Pair two_colours(int red) {
  std::vector<uint8_t> image;
  std::vector<uint8_t> mask;
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const std::vector<uint8_t> colour =
          x < red ? std::vector<uint8_t>{230, 20, 20} : std::vector<uint8_t>{20, 20, 230};
      image.insert(image.end(), colour.begin(), colour.end());
      mask.push_back(y == kSide - 1 ? 255 : x < red ? 1 : 0);
    }
  }
  return {test::png(kSide, kSide, 3, image), test::png(kSide, kSide, 1, mask)};
}

class MaskRuns : public testing::Test {
 protected:
  void SetUp() override {
    for (int red = 1; red < 7; ++red) {
      const Pair pair = two_colours(red);
      const std::string name = std::to_string(red) + ".png";
      (void)scratch_.write("set/images/" + name, pair.image);
      (void)scratch_.write("set/masks/" + name, pair.mask);
    }
    run_file_ = scratch_.write("run.toml", kMaskRunFile);
  }
  void refused(const std::string& options, const std::vector<std::string>& parts) {
    const JobResult job =
        run_penstock(2, "train " + run_file_ + " --stages 2 --out " + run_ + options);
    EXPECT_EQ(job.exit_code, 2) << job.output;
    for (const std::string& part : parts) EXPECT_THAT(job.output, HasSubstr(part));
    EXPECT_THAT(job.output, Not(HasSubstr("| loss"))) << "something was trained";
    EXPECT_FALSE(std::filesystem::exists(run_ + "/metrics.jsonl"));
  }

  TemporaryFolder scratch_;
  std::string run_file_, run_ = scratch_ / "run";
};

TEST_F(MaskRuns, AreTrainedAndEvaluatedByOverlap) {
  const JobResult trained = run_alone("train " + run_file_ + " --out " + run_);
  ASSERT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_THAT(trained.output, AllOf(HasSubstr("images      6 images with masks of 2 classes of "),
                                    HasSubstr("data.ignore = 255: 12.5 %")));
  const std::string told = run_alone("eval " + run_ + " --confusion").output;
  EXPECT_THAT(told,
              AllOf(HasSubstr(": 336 targets, loss "), HasSubstr("accuracy "), HasSubstr("IoU 0 "),
                    HasSubstr("IoU 1 "), HasSubstr("IoU mean "), HasSubstr("taken for")));
  for (const char* how : {" --stages 2", " --replicas 2"}) {
    EXPECT_EQ(run_penstock(2, "eval " + run_ + " --confusion" + how).output, told) << how;
  }
  const auto json = nlohmann::json::parse(run_alone("eval --json " + run_).output);
  EXPECT_GT(json.at("mean_iou").get<double>(), 0.9) << "colours are easy to tell";
  EXPECT_EQ(json.at("iou").size(), 2U);
  EXPECT_FALSE(json.contains("confusion")) << "nobody asked for it";
  const JobResult predicted = run_alone("predict " + run_ + " " + scratch_ / "set/images/1.png");
  EXPECT_EQ(predicted.exit_code, 2);
  EXPECT_THAT(predicted.output, HasSubstr("tells the class of each pixel"));
}

TEST_F(MaskRuns, OfWrongFilesAreRefusedBeforeAnythingIsTrained) {
  refused(" --model.classes 1", {"has the class number 1 in row 0, column 0", "model.classes = 2"});
  (void)scratch_.write("set/masks/3.png", test::png(4, 8, 1, std::vector<uint8_t>(32)));
  refused("", {"masks/3.png is 4 high and 8 wide", "8 high and 8 wide"});
  (void)scratch_.write("set/masks/3.png", test::png(8, 8, 1, std::vector<uint8_t>(64, 4)));
  refused(" --model.classes 2", {"masks/3.png has the class number 4", "model.classes = 5"});
  std::filesystem::remove(scratch_ / "set/masks/3.png");
  refused("", {"images/3.png has no mask"});
  refused(" --model.per_pixel=false", {"give model.per_pixel = true"});
  refused(" --data.kind images --data.leave_out x", {"give data.kind = \"masks\""});
}

}  // namespace
}  // namespace penstock
