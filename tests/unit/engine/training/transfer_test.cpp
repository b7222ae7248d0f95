// What `--init` says of a checkpoint before it reads a value: which tensors fit, and what is wrong.
#include "runtime/engine/training/checkpoints/transfer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/records/checkpoint/writer/checkpoint_writer.h"
#include "tests/unit/network/optimizer/update_device.h"
#include "tests/unit/records/checkpoint/bytes.h"
#include "tests/unit/records/checkpoint/thread_world.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TransferPlans : public testing::Test {
 protected:
  // A checkpoint of step 3 with tensors of zeros.
  void save(const std::vector<NetworkTensor>& tensors) {
    UpdateDevice device;
    CheckpointRequest request;
    request.root = run_ + "/checkpoints";
    request.state.step = 3;
    for (const NetworkTensor& tensor : tensors) {
      request.model.push_back(
          {{tensor.name, device.zeros(tensor.shape, DType::F32, Purpose::Parameters)}});
    }
    const auto errors = on_ranks(
        1, [&](Collective& world) { (void)CheckpointWriter(world, device).save(request); });
    ASSERT_EQ(errors[0], "");
  }
  [[nodiscard]] static Layout network_of(std::vector<NetworkTensor> tensors) {
    Layout layout;
    layout.named = std::move(tensors);
    return layout;
  }
  [[nodiscard]] TransferRecord plan(const std::vector<NetworkTensor>& tensors,
                                    std::vector<std::string> skip = {}) const {
    return plan_transfer({.from = checkpoint_at(run_), .skip = std::move(skip)},
                         network_of(tensors));
  }

  TemporaryFolder folder_;
  std::string run_ = folder_ / "run";
};

TEST_F(TransferPlans, TakeWhatHasTheSameName) {
  save({{"stem.weight", {4, 3}}, {"stem.norm.running_mean", {4}}, {"old.weight", {2}}});
  const TransferRecord record =
      plan({{"stem.weight", {4, 3}}, {"stem.norm.running_mean", {4}, false}, {"new.weight", {9}}});
  EXPECT_THAT(record.loaded, ElementsAre("stem.weight", "stem.norm.running_mean"));
  EXPECT_THAT(record.missing, ElementsAre("new.weight"));
  EXPECT_THAT(record.unused, ElementsAre("old.weight"));
  EXPECT_THAT(record.skipped, IsEmpty());
  EXPECT_EQ(describe(record), "init: 2 of 3 tensors from " + run_ +
                                  "/checkpoints/step-00000003; not in the checkpoint: new.weight; "
                                  "not in the network: old.weight");
}

TEST_F(TransferPlans, SkipByPatternWhateverTheShape) {
  save({{"stem.weight", {4, 3}}, {"head.weight", {10, 4}}, {"head.bias", {10}}});
  const std::vector<NetworkTensor> network = {
      {"stem.weight", {4, 3}}, {"head.weight", {7, 4}}, {"head.bias", {7}}};
  const TransferRecord record = plan(network, {"head.*"});
  EXPECT_THAT(record.loaded, ElementsAre("stem.weight"));
  EXPECT_THAT(record.skipped, ElementsAre("head.weight", "head.bias"));
  EXPECT_THAT(record.unused, IsEmpty()) << "what is skipped is known";
  EXPECT_THAT(describe(record), HasSubstr("skipped: head.weight, head.bias"));

  const std::string misfit = refusal(ErrorKind::Input, [&] { (void)plan(network); });
  EXPECT_THAT(misfit, HasSubstr("'head.weight' is [10, 4] in "));
  EXPECT_THAT(misfit, HasSubstr("but [7, 4] in this network; --init.skip 'head.*' lets it start "));
  const std::string no_such = refusal(ErrorKind::Input, [&] { (void)plan(network, {"haed.*"}); });
  EXPECT_THAT(no_such, HasSubstr("init.skip: no tensor of the network is called 'haed.*'"));
}

TEST_F(TransferPlans, RefuseAnotherNetwork) {
  save({{"a.weight", {2}}});
  const std::string words = refusal(ErrorKind::Input, [&] { (void)plan({{"b.weight", {2}}}); });
  EXPECT_THAT(words, HasSubstr("has no tensor for this network; it has: a.weight; the network has: "
                               "b.weight"));
}

TEST_F(TransferPlans, NameFourAndCountTheRest) {
  TransferRecord record;
  record.checkpoint = "runs/nine";
  record.loaded = {"a"};
  record.missing = {"b", "c", "d", "e", "f", "g"};
  EXPECT_EQ(describe(record),
            "init: 1 of 7 tensors from runs/nine; not in the checkpoint: b, c, d, e and 2 more");
}

TEST_F(TransferPlans, FindACheckpointOrItsRun) {
  save({{"a.weight", {2}}});
  const std::string checkpoint = run_ + "/checkpoints/step-00000003";
  EXPECT_EQ(checkpoint_at(run_), checkpoint);
  EXPECT_EQ(checkpoint_at(checkpoint), checkpoint);
  const std::string nothing = folder_ / "nothing";
  EXPECT_THAT(refusal(ErrorKind::Input, [&] { (void)checkpoint_at(nothing); }),
              HasSubstr(nothing + " is neither a run directory with checkpoints nor a checkpoint"));
}

}  // namespace
}  // namespace penstock
