// The batch field that losses compare with, whatever its name.
#include "runtime/planning/blueprint/targets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/loss.h"

namespace penstock {
namespace {

using testing::HasSubstr;

std::unique_ptr<Layer> classifier(const std::string& name, const std::string& labels) {
  return std::make_unique<ClassifierLoss>(
      name, ClassifierLoss::Options{.width = 4, .classes = 3, .labels = labels});
}

std::unique_ptr<Layer> head(const std::string& labels) {
  Layers branch;
  branch.push_back(std::make_unique<Linear>("half.linear", Linear::Options{.in = 4, .out = 4}));
  branch.push_back(classifier("half.classifier", labels));
  return std::make_unique<AuxiliaryLoss>("half", std::move(branch), 0.5);
}

// A loss of one's own that reads these fields and says which of them is its target, or nothing.
class OwnLoss final : public Layer {
 public:
  OwnLoss(std::vector<std::string> fields, std::string targets)
      : Layer("mine"), fields_(std::move(fields)), targets_(std::move(targets)) {}
  [[nodiscard]] std::string kind() const override { return "distance"; }
  [[nodiscard]] Shapes infer(const Shapes& /*inputs*/) const override { return {}; }
  Variables forward(Context& /*context*/, const Variables& /*inputs*/) const override { return {}; }
  [[nodiscard]] std::vector<std::string> reads() const override { return fields_; }
  [[nodiscard]] std::string targets() const override { return targets_; }

 private:
  std::vector<std::string> fields_;
  std::string targets_;
};

Sequential network(std::unique_ptr<Layer> middle, std::unique_ptr<Layer> loss) {
  Sequential model;
  model.inputs = {"inputs"};
  model.layers.push_back(std::move(middle));
  model.layers.push_back(std::move(loss));
  return model;
}
std::unique_ptr<Layer> linear() {
  return std::make_unique<Linear>("linear", Linear::Options{.in = 4, .out = 4});
}
std::unique_ptr<Layer> own(std::vector<std::string> fields, std::string targets = "") {
  return std::make_unique<OwnLoss>(std::move(fields), std::move(targets));
}

std::string refusal_of(const Sequential& model) {
  try {
    (void)target_field(model);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}

TEST(TargetFieldOf, IsWhatTheLossReads) {
  EXPECT_EQ(target_field(network(linear(), classifier("loss", "labels"))).name, "labels");
  EXPECT_EQ(target_field(network(linear(), classifier("loss", "answers"))).name, "answers");
  EXPECT_EQ(target_field(network(head("answers"), classifier("loss", "answers"))).name, "answers");
  EXPECT_EQ(target_field(network(linear(), own({"answers"}))).name, "answers") << "the only one";
  EXPECT_EQ(target_field(network(linear(), own({"weights", "answers"}, "answers"))).name,
            "answers");
}

TEST(TargetFieldOf, MayBeReadByTheNetworkToo) {
  EXPECT_FALSE(target_field(network(head("labels"), classifier("loss", "labels"))).is_read);
  EXPECT_TRUE(target_field(network(linear(), classifier("loss", "inputs"))).is_read);
  Layers reader;
  reader.push_back(own({"answers"}));
  EXPECT_TRUE(target_field(network(std::make_unique<Group>("reader", "group", std::move(reader)),
                                   classifier("loss", "answers")))
                  .is_read);
}

TEST(TargetFieldOf, IsRefusedWhereItCannotBeKnown) {
  for (const auto& fields : {std::vector<std::string>{}, {"weights", "answers"}}) {
    const std::string words = refusal_of(network(linear(), own(fields)));
    EXPECT_THAT(words, HasSubstr("layer 'mine' (distance)"));
    EXPECT_THAT(words, HasSubstr("Layer::targets()"));
  }
  const std::string words = refusal_of(network(head("answers"), classifier("loss", "labels")));
  EXPECT_THAT(words, HasSubstr("layer 'half' (auxiliary-loss) compares with 'answers'"));
  EXPECT_THAT(words, HasSubstr("layer 'loss' (classifier) with 'labels'"));
}

}  // namespace
}  // namespace penstock
