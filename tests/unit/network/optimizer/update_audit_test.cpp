// A part of an update, made again: nothing is found where nothing was changed, and what was changed
// is found and mended.
#include "runtime/network/optimizer/update_audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/ops/pointwise.h"
#include "runtime/network/layers/parameter_set.h"
#include "tests/unit/network/optimizer/update_device.h"

namespace penstock {
namespace {

constexpr int64_t kElements = 2 * UpdateAudit::kStretch + 5000;  // three stretches
constexpr double kRate = 0.01;

class UpdateAuditTest : public testing::TestWithParam<const char*> {
 protected:
  UpdateAuditTest() : optimizer_(make_optimizer({.kind = GetParam(), .momentum = 0.9})) {
    set_.add(slot_, "linear.weight", {kElements}, {});
    Parameter& parameter = set_.declared().parameters.front();
    parameter.weight = Weight(device_.empty(parameter.shape, DType::F32, Purpose::Parameters));
    parameter.gradient = device_.empty(parameter.shape, DType::F32, Purpose::Gradients);
    for (int64_t i = 0; i < kElements; ++i) {
      parameter.weight.value().data<float>()[i] = static_cast<float>(i % 97) - 40.0F;
      parameter.gradient.data<float>()[i] = static_cast<float>(i % 89) * 0.01F;
    }
    table_.emplace(set_);
    table_->bind();
    optimizer_->allocate(table_->entries(), device_);
    audit_.emplace(table_->entries(), device_);
  }
  StateEntry& entry() { return *table_->entries().front(); }
  std::vector<float> weights() {
    const auto all = entry().value.span<const float>();
    return {all.begin(), all.end()};
  }

  UpdateDevice device_;
  ParameterSet set_;
  Slot slot_;
  std::optional<StateTable> table_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<UpdateAudit> audit_;
};

TEST_P(UpdateAuditTest, FindsNothingWhereNothingWasChanged) {
  for (int step = 1; step <= 5; ++step) {
    audit_->before(1, step, 0);
    optimizer_->step(kRate, 0.5);
    EXPECT_FALSE(audit_->after(*optimizer_, kRate, 0.5)) << step;
  }
}

// Whichever stretch is drawn, one element of each changes.
TEST_P(UpdateAuditTest, FindsAndMendsWhatChanged) {
  for (int step = 1; step <= 5; ++step) {
    audit_->before(1, step, 0);
    optimizer_->step(kRate, 0.5);
    const std::vector<float> right = weights();
    for (int64_t i = 77; i < kElements; i += UpdateAudit::kStretch) {
      entry().value.data<float>()[i] *= 1.0001F;
    }
    const std::vector<float> wrong = weights();
    const auto finding = audit_->after(*optimizer_, kRate, 0.5);
    ASSERT_TRUE(finding) << step;
    EXPECT_EQ(finding->parameter, "linear.weight");
    EXPECT_NE(finding->first, finding->second);
    EXPECT_TRUE(finding->corrected);
    const std::vector<float> now = weights();
    int mended = 0;
    for (int64_t i = 77; i < kElements; i += UpdateAudit::kStretch) {
      const auto at = static_cast<size_t>(i);
      ASSERT_NE(wrong[at], right[at]);
      if (now[at] == right[at]) ++mended;
    }
    EXPECT_EQ(mended, 1);
    for (int64_t i = 77; i < kElements; i += UpdateAudit::kStretch) {
      entry().value.data<float>()[i] = right[static_cast<size_t>(i)];
    }
    EXPECT_EQ(weights(), right);
  }
}

TEST_P(UpdateAuditTest, FindsAChangedState) {
  if (entry().states.empty()) GTEST_SKIP() << "does not apply to a rule that keeps no state";
  audit_->before(3, 1, 0);
  optimizer_->step(kRate, 1.0);
  for (int64_t i = 5; i < kElements; i += UpdateAudit::kStretch) {
    entry().states.back().tensor.data<float>()[i] += 1.0F;
  }
  const auto finding = audit_->after(*optimizer_, kRate, 1.0);
  ASSERT_TRUE(finding);
  EXPECT_TRUE(finding->corrected);
}

// Draws depend on step and rank, and reach every stretch.
TEST_P(UpdateAuditTest, EveryStretchIsDrawn) {
  std::vector<bool> found(3, false);
  for (int step = 1; step <= 40; ++step) {
    audit_->before(1, step, 0);
    optimizer_->step(kRate, 1.0);
    const auto which = static_cast<int64_t>(step % 3);
    entry().value.data<float>()[which * UpdateAudit::kStretch] += 1.0F;
    if (audit_->after(*optimizer_, kRate, 1.0)) found[static_cast<size_t>(which)] = true;
  }
  EXPECT_THAT(found, testing::Each(true));
}

INSTANTIATE_TEST_SUITE_P(, UpdateAuditTest,
                         testing::Values("sgd", "rmsprop", "adam", "adamw", "lion"));

}  // namespace
}  // namespace penstock
