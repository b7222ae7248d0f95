// The table of a stage says of every tensor what training, files and other stages do with it.
#include "runtime/network/stage/state_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/network/layers/library/embedding.h"
#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/stage/stage.h"

namespace penstock {
namespace {

using testing::ElementsAre;

// A layer that holds a table of embeddings together with others.
class Holder final : public UnaryLayer {
 public:
  using UnaryLayer::UnaryLayer;
  [[nodiscard]] std::string kind() const override { return "holder"; }
  void declare(ParameterSet& set) const override { set.share(table_, "table.weight", {3, 4}, {}); }

 protected:
  Variable run(Context& /*context*/, const Variable& x) const override { return x; }

 private:
  Slot table_;
};

Layers layers() {
  Layers all;
  all.push_back(std::make_unique<Holder>("first"));
  for (const char* name : {"a", "b"}) {
    all.push_back(std::make_unique<Linear>(std::string(name) + ".linear",
                                           Linear::Options{.in = 4, .out = 5}));
    all.push_back(
        std::make_unique<BatchNorm>(std::string(name) + ".norm", 5, BatchNorm::Options{}));
  }
  all.push_back(std::make_unique<Holder>("last"));
  return all;
}

template <class Of>
std::vector<std::string> names_of(StateRange range, const Of& of) {
  std::vector<std::string> names;
  for (const StateEntry* entry : range) {
    if (of(*entry)) names.push_back(entry->name);
  }
  return names;
}

TEST(StateTable, ListsEveryTensorOnceWithWhatIsDoneToIt) {
  const Layers all = layers();
  const std::vector<std::string> freeze = {"a.*", "b.linear.bias", "b.norm.weight"};
  const auto device = make_cpu_device(1);
  StageWeights weights(all, freeze);
  const StateRange state = weights.state();
  EXPECT_THAT(names_of(state, [](const StateEntry&) { return true; }),
              ElementsAre("table.weight", "a.linear.weight", "a.linear.bias", "a.norm.weight",
                          "a.norm.bias", "b.linear.weight", "b.linear.bias", "b.norm.weight",
                          "b.norm.bias", "a.norm.running_mean", "a.norm.running_var",
                          "b.norm.running_mean", "b.norm.running_var"));
  // The statistics of a norm that is frozen altogether stay; of one that is not, they move.
  EXPECT_THAT(names_of(state, [](const StateEntry& e) { return e.trained; }),
              ElementsAre("table.weight", "b.linear.weight", "b.norm.bias", "b.norm.running_mean",
                          "b.norm.running_var"));
  EXPECT_THAT(names_of(state, [](const StateEntry& e) { return e.tied; }),
              ElementsAre("table.weight"));
  EXPECT_THAT(names_of(state, [](const StateEntry& e) { return e.kind == StateKind::Norm; }),
              ElementsAre("a.norm.weight", "b.norm.weight"));
  EXPECT_EQ(state[0]->holders.size(), 2U);
  int64_t elements = 0;
  for (const StateEntry* entry : state) elements += entry->elements();
  EXPECT_EQ(elements, 3 * 4 + 2 * (5 * 4 + 5 + 4 * 5));

  weights.allocate(1, *device);
  EXPECT_THAT(names_of(state, [](const StateEntry& e) { return bool(e.gradient); }),
              ElementsAre("table.weight", "b.linear.weight", "b.norm.bias"));
  for (const StateEntry* entry : state) {
    EXPECT_EQ(entry->value.elements(), entry->elements()) << entry->name;
    EXPECT_TRUE(kept_beside(*entry).empty());
  }
  EXPECT_EQ(state[0]->holders[1]->weight.value().raw(), state[0]->value.raw());
  EXPECT_NE(state[0]->holders[1]->gradient.raw(), state[0]->gradient.raw());
}

// Each begins on a cache line of one of two vectors, whatever its type. What somebody may read as
// it is stays fp32.
TEST(StateTable, KeepsFrozenMatricesInTheTypeOfTheComputation) {
  const Layers all = layers();
  const std::vector<std::string> freeze = {"table.*", "a.*"};
  const auto device = make_cpu_device(1);
  StageWeights weights(all, freeze, DType::BF16);
  weights.allocate(1, *device);
  for (const StateEntry* entry : weights.state()) {
    const bool narrow = entry->name == "a.linear.weight";
    EXPECT_EQ(entry->value.dtype(), narrow ? DType::BF16 : DType::F32) << entry->name;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(entry->value.raw()) % 64, 0U) << entry->name;
    EXPECT_EQ(entry->value.shape().elements(), entry->elements());
  }
}

// A table that looks up and one that multiplies are one in bf16, too.
TEST(StateTable, KeepsASharedTableInTheTypeOfTheComputation) {
  Layers all;
  all.push_back(std::make_unique<Embedding>(
      "first",
      Embedding::Options{.vocabulary = 3, .width = 4, .context = 5, .shared = "table.weight"}));
  all.push_back(std::make_unique<Linear>(
      "last", Linear::Options{.in = 4, .out = 3, .bias = false, .shared = {{"table.weight", {}}}}));
  const std::vector<std::string> freeze = {"*"};
  const auto device = make_cpu_device(1);
  StageWeights weights(all, freeze, DType::BF16);
  weights.allocate(1, *device);
  ASSERT_EQ(weights.state().size(), 1U);
  const StateEntry& entry = *weights.state()[0];
  EXPECT_EQ(entry.value.dtype(), DType::BF16);
  EXPECT_EQ(entry.holders[1]->weight.value().raw(), entry.value.raw());
}

TEST(StateTable, WhatIsReadLaterIsNotDrawn) {
  const auto device = make_cpu_device(1);
  const Layers all = layers();
  StageWeights weights(all, {});
  weights.allocate(1, *device, [](const std::string& name) { return name == "a.linear.weight"; });
  for (const StateEntry* entry : weights.state()) {
    if (!entry->is_parameter()) continue;
    const auto values = entry->value.span<const float>();
    const bool zero = std::ranges::all_of(values, [](float value) { return value == 0.0F; });
    EXPECT_EQ(zero, entry->name != "a.linear.weight") << entry->name;
  }
}

}  // namespace
}  // namespace penstock
