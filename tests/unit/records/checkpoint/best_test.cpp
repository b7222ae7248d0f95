// The best checkpoint: kept, found, and where the link leads.
#include "runtime/records/checkpoint/best.h"

#include <limits>

#include "kernels/error.h"
#include "tests/unit/records/checkpoint/checkpoints.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class BestCheckpoints : public Checkpoints {
 protected:
  // Saves a checkpoint after which the best evaluation is that of `best`; returns its warning.
  std::string save_with(int64_t step, int64_t best) {
    std::string warning;
    on_ranks(1, [&](Collective& world) {
      CheckpointRequest request = this->request(step, world.rank(), 1);
      request.state.best_metric = "loss";
      request.state.best = {.step = best, .value = 0.1, .since = 1};
      warning = CheckpointWriter(world, device_).save(request).warning;
    });
    return warning;
  }
  [[nodiscard]] std::string link() const { return fs::read_symlink(root_ + "/best").string(); }
};

TEST_F(BestCheckpoints, AreNeverRetiredWhileTheyAreTheBest) {
  retention_ = {.keep = 1, .best = true};
  for (const int64_t step : {10, 20}) EXPECT_EQ(save_with(step, 10), "");
  EXPECT_THAT(steps(), ElementsAre(10, 20));
  EXPECT_EQ(link(), "step-00000010");
  EXPECT_EQ(save_with(30, 30), "");
  EXPECT_THAT(steps(), ElementsAre(30));
  EXPECT_EQ(link(), "step-00000030");
  for (const int64_t step : {40, 50}) EXPECT_EQ(save_with(step, 30), "");
  EXPECT_THAT(steps(), ElementsAre(30, 50));
  EXPECT_EQ(link(), "step-00000030");
  EXPECT_EQ(best_checkpoint(root_, run_)->step, 30);
  EXPECT_FALSE(best_checkpoint(root_, "another"));
}

// What is kept is the newest that is there, also where the best could not be written.
TEST_F(BestCheckpoints, OfWhichTheNewestWasLostAreTheOnesBefore) {
  retention_ = {.keep = 1, .best = true};
  EXPECT_EQ(save_with(10, 10), "");
  EXPECT_EQ(save_with(30, 20), "");
  EXPECT_THAT(steps(), ElementsAre(10, 30));
  EXPECT_EQ(link(), "step-00000010");
}

TEST_F(BestCheckpoints, OfEarlierAttemptsLeaveNoLinkThatLeadsNowhere) {
  retention_ = {.keep = 1, .best = true};
  EXPECT_EQ(save_with(10, 10), "");
  EXPECT_EQ(link(), "step-00000010");
  retention_.best = false;
  EXPECT_EQ(save_with(20, 0), "");
  EXPECT_THAT(steps(), ElementsAre(20));
  EXPECT_FALSE(fs::is_symlink(root_ + "/best"));
}

TEST_F(BestCheckpoints, AreNotLookedForWithoutTheKey) {
  retention_ = {.keep = 1};
  for (const int64_t step : {10, 20}) EXPECT_EQ(save_with(step, 10), "");
  EXPECT_THAT(steps(), ElementsAre(20));
  EXPECT_FALSE(fs::is_symlink(root_ + "/best"));
}

TEST_F(BestCheckpoints, LeaveAFolderOfTheirNameAlone) {
  retention_ = {.keep = 1, .best = true};
  fs::create_directories(root_ + "/best");
  EXPECT_THAT(save_with(10, 10), HasSubstr("best is there already and is no link: move it away"));
  EXPECT_TRUE(fs::is_directory(root_ + "/best"));
  EXPECT_THAT(steps(), ElementsAre(10));
}

TEST_F(BestCheckpoints, SettleTheLinkAfterACrashAndAfterGoingBack) {
  retention_ = {.keep = 0, .best = true};
  EXPECT_EQ(save_with(10, 10), "");
  EXPECT_EQ(save_with(20, 20), "");
  fs::remove(root_ + "/best");  // a crash before the link was moved
  fs::create_symlink("step-00000010", root_ + "/best");
  fs::create_symlink("step-00000020", root_ + "/.best.next");
  EXPECT_EQ(clear_leftovers(root_), "");
  EXPECT_FALSE(fs::is_symlink(root_ + "/.best.next"));
  settle_best_link(root_, run_);
  EXPECT_EQ(link(), "step-00000020");
  fs::remove_all(step_path(20));
  settle_best_link(root_, run_);
  EXPECT_EQ(link(), "step-00000010");
  fs::remove_all(step_path(10));
  settle_best_link(root_, run_);
  EXPECT_FALSE(fs::is_symlink(root_ + "/best")) << "it led nowhere";
}

TEST(BestState, ReadsBackToTheBit) {
  CheckpointState state{.step = 20, .version = "1", .configuration = "", .run = "a"};
  EXPECT_EQ(parse_state(encode_state(state), "s"), state);
  EXPECT_FALSE(state.is_best());
  state.best_metric = "accuracy";
  state.best = {.step = 20, .value = 0.1 + 0.2, .since = 3, .samples = 12};
  EXPECT_EQ(parse_state(encode_state(state), "s"), state);
  EXPECT_TRUE(state.is_best());
  std::string damaged = encode_state(state);
  damaged.replace(damaged.find("\"value\""), 7, "\"valeu\"");
  EXPECT_THROW((void)parse_state(damaged, "s"), Error);
}

}  // namespace
}  // namespace penstock
