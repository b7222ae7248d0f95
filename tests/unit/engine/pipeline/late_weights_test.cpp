// Weights that other replicas have updated: a forward waits for those that it reads, and for no
// others.
#include "runtime/engine/pipeline/late_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Notes = std::vector<std::string>;

// Makes a note when it runs. With `large` its parameter fills a bucket by itself.
class Noting final : public UnaryLayer {
 public:
  Noting(const std::string& name, bool large, Notes& notes)
      : UnaryLayer(name), rows_(large ? 1024 : 1), notes_(notes) {}
  [[nodiscard]] std::string kind() const override { return "noting"; }
  void declare(ParameterSet& set) const override {
    set.add(weight_, name() + ".weight", {rows_, 1024}, {}, ParameterKind::Matrix);
  }

 protected:
  Variable run(Context& /*context*/, const Variable& x) const override {
    notes_.push_back("forward of " + name());
    return x;
  }

 private:
  int64_t rows_;
  Notes& notes_;
  Slot weight_;
};

// Notes what it is asked for, by the number of the tensor in the order of gathers.
class NotedGroup final : public ReduceGroup {
 public:
  explicit NotedGroup(Notes& notes) : notes_(notes) {}
  [[nodiscard]] int size() const override { return 2; }
  void start(const Tensor& /*buffer*/) override { notes_.emplace_back("sum"); }
  void scatter(const Tensor& /*buffer*/, std::span<const int64_t> /*cuts*/) override {
    notes_.emplace_back("scatter");
  }
  void gather(const Tensor& buffer, std::span<const int64_t> cuts) override {
    EXPECT_EQ(cuts.back(), buffer.elements());
    gathered_.push_back(buffer.raw());
  }
  void progress() override {}
  void wait(const Tensor& buffer) override {
    const auto at = std::find(gathered_.begin(), gathered_.end(), buffer.raw());
    notes_.push_back("wait for " + std::to_string(at - gathered_.begin()));
  }
  void finish() override {
    notes_.push_back("end of " + std::to_string(gathered_.size()));
    gathered_.clear();
  }

 private:
  Notes& notes_;
  std::vector<const void*> gathered_;
};

// Two stages of one rank, of three layers and two buckets each: the small layer is in that of the
// one before it.
class LateWeightsOf : public testing::Test {
 protected:
  LateWeightsOf() {
    for (const auto& [first, second] : {std::pair("a", "b"), std::pair("c", "d")}) {
      Layers& layers = layers_.emplace_back();
      layers.push_back(std::make_unique<Noting>(first, true, notes_));
      layers.push_back(std::make_unique<Noting>(std::string(first) + "-small", false, notes_));
      layers.push_back(std::make_unique<Noting>(second, true, notes_));
      stages_.push_back(
          std::make_unique<Stage>(layers, RecomputeMode::None, 1, DType::F32, *device_));
      stages_.back()->allocate(1);
      stages_.back()->weights().share(2, 0);
    }
    late_.emplace(stages_, group_);
  }

  // The notes of one forward of the stage.
  Notes forward(size_t stage) {
    notes_.clear();
    stages_[stage]->begin_step();
    const MicroBatch batch;
    (void)stages_[stage]->forward(batch, {device_->zeros({1}, DType::F32, Purpose::Activations)},
                                  true);
    return notes_;
  }

  Notes notes_;
  std::unique_ptr<Device> device_ = make_cpu_device(1);
  std::vector<Layers> layers_;
  std::vector<std::unique_ptr<Stage>> stages_;
  NotedGroup group_{notes_};
  std::optional<LateWeights> late_;
};

TEST_F(LateWeightsOf, AreAwaitedLayerByLayer) {
  EXPECT_THAT(forward(0), ElementsAre("forward of a", "forward of a-small", "forward of b"));
  late_->start();
  EXPECT_THAT(forward(0), ElementsAre("wait for 0", "forward of a", "forward of a-small",
                                      "wait for 1", "forward of b"));
  EXPECT_THAT(forward(1), ElementsAre("wait for 2", "forward of c", "forward of c-small",
                                      "wait for 3", "end of 4", "forward of d"));
  EXPECT_THAT(forward(0), ElementsAre("forward of a", "forward of a-small", "forward of b"))
      << "nothing is under way any more";
}

TEST_F(LateWeightsOf, OfEarlierStagesComeFirst) {
  late_->start();
  EXPECT_THAT(forward(1),
              ElementsAre("wait for 0", "wait for 1", "wait for 2", "forward of c",
                          "forward of c-small", "wait for 3", "end of 4", "forward of d"));
}

TEST_F(LateWeightsOf, AreAllAwaitedAtOnce) {
  late_->start();
  (void)forward(0);
  notes_.clear();
  late_->await_all();
  EXPECT_THAT(notes_, ElementsAre("end of 4"));
  notes_.clear();
  late_->await_all();
  EXPECT_THAT(notes_, IsEmpty());
  EXPECT_THAT(forward(1), ElementsAre("forward of c", "forward of c-small", "forward of d"));
}

}  // namespace
}  // namespace penstock
