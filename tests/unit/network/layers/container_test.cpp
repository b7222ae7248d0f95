// Layers made of layers: what a Group and a Residual compute, own, read and refuse.
#include "runtime/network/layers/container.h"

#include "runtime/network/layers/library/linear.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "tests/unit/network/layers/network.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<Layer> linear_layer(const std::string& name, int64_t in, int64_t out) {
  return std::make_unique<Linear>(name, Linear::Options{.in = in, .out = out});
}

std::vector<std::string> names(SmallNetwork& network) {
  std::vector<std::string> all;
  for (const Parameter& p : network.stage().weights().set().declared().parameters)
    all.push_back(p.name);
  return all;
}

// y = x W^T + b, in double.
Numbers affine(const Numbers& x, const Numbers& w, const Numbers& b) {
  const size_t in = w.size() / b.size();
  Numbers y;
  for (size_t r = 0; r < x.size() / in; ++r) {
    for (size_t o = 0; o < b.size(); ++o) {
      double sum = b[o];
      for (size_t i = 0; i < in; ++i) sum += x[r * in + i] * w[o * in + i];
      y.push_back(sum);
    }
  }
  return y;
}

TEST(Groups, RunTheirLayersInOrder) {
  SmallNetwork network(layers_of(std::make_unique<Group>(
      "block", "pair", layers_of(linear_layer("block.a", 3, 5), linear_layer("block.b", 5, 2)))));
  const Layer& group = network.layer(0);
  EXPECT_EQ(group.kind(), "pair");
  EXPECT_EQ(group.infer({{4, 3}})[0], Shape({4, 2}));
  EXPECT_THAT(names(network),
              ElementsAre("block.a.weight", "block.a.bias", "block.b.weight", "block.b.bias"));
  const Tensor x = network.random({4, 3}, 1);
  const Numbers hidden =
      affine(numbers_of(x), network.weight("block.a.weight"), network.weight("block.a.bias"));
  expect_near(network.evaluate(x)[0],
              affine(hidden, network.weight("block.b.weight"), network.weight("block.b.bias")),
              1e-5);
  // The misfit of a layer inside names that layer.
  EXPECT_THAT(message_of([&] { (void)group.infer({{4, 4}}); }), HasSubstr("'block.a'"));
}

TEST(Residuals, AddTheBranchToTheInput) {
  SmallNetwork network(layers_of(
      std::make_unique<Residual>("r", layers_of(linear_layer("r.branch", 3, 3)), Layers{})));
  EXPECT_EQ(network.layer(0).kind(), "residual");
  const Tensor x = network.random({4, 3}, 1);
  Numbers y =
      affine(numbers_of(x), network.weight("r.branch.weight"), network.weight("r.branch.bias"));
  for (size_t i = 0; i < y.size(); ++i) y[i] += numbers_of(x)[i];
  expect_near(network.evaluate(x)[0], y, 1e-5);
}

TEST(Residuals, AddAShortcutThenApplyTheFunction) {
  SmallNetwork network(layers_of(
      std::make_unique<Residual>("r", layers_of(linear_layer("r.branch", 3, 2)),
                                 layers_of(linear_layer("r.shortcut", 3, 2)), Activation::Relu)));
  EXPECT_EQ(network.layer(0).infer({{4, 3}})[0], Shape({4, 2}));
  EXPECT_THAT(names(network), ElementsAre("r.branch.weight", "r.branch.bias", "r.shortcut.weight",
                                          "r.shortcut.bias"));
  const Tensor x = network.random({8, 3}, 1);
  Numbers y =
      affine(numbers_of(x), network.weight("r.branch.weight"), network.weight("r.branch.bias"));
  const Numbers shortcut =
      affine(numbers_of(x), network.weight("r.shortcut.weight"), network.weight("r.shortcut.bias"));
  int cut = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = std::max(0.0, y[i] + shortcut[i]);
    cut += y[i] == 0.0 ? 1 : 0;
  }
  EXPECT_GT(cut, 0);
  EXPECT_LT(cut, 16);
  expect_near(network.evaluate(x)[0], y, 1e-5);
}

TEST(Residuals, RefuseSidesThatCannotBeAdded) {
  const Residual uneven("r", layers_of(linear_layer("r.branch", 3, 2)));
  EXPECT_THAT(message_of([&] {
                (void)uneven.infer({{4, 3}});
              }),
              ::testing::AllOf(HasSubstr("layer 'r' (residual)"), HasSubstr("[4, 2]"),
                               HasSubstr("[4, 3]")));
  const Residual ends("r", layers_of(std::make_unique<ClassifierLoss>(
                               "r.loss", ClassifierLoss::Options{.width = 3, .classes = 2})));
  EXPECT_THAT(message_of([&] { (void)ends.infer({{4, 3}}); }), HasSubstr("nothing"));
}

// What is inside reaches what is outside: batch fields, and the end of the step.
TEST(Containers, PassReadsAndTheEndOfTheStep) {
  const auto norms = [] {
    return layers_of(std::make_unique<BatchNorm>("inner", 3, BatchNorm::Options{}));
  };
  Layers branch;
  branch.push_back(std::make_unique<Group>("g", "group", norms()));
  Layers shortcut = layers_of(std::make_unique<BatchNorm>("side", 3, BatchNorm::Options{}));
  SmallNetwork network(
      layers_of(std::make_unique<Residual>("r", std::move(branch), std::move(shortcut))));
  (void)network.stage().forward(network.micro_batch(0), {network.random({8, 3}, 1)}, true);
  network.stage().end_step(1);
  for (const char* name : {"inner.running_mean", "side.running_mean"}) {
    for (double mean : network.buffer(name)) EXPECT_NE(mean, 0.0) << name;
  }
  const Group last(
      "last", "group",
      layers_of(linear_layer("last.a", 3, 3),
                std::make_unique<ClassifierLoss>(
                    "last.loss",
                    ClassifierLoss::Options{
                        .width = 3, .classes = 2, .bias = true, .labels = "answers", .loss = {}})));
  EXPECT_THAT(last.reads(), ElementsAre("answers"));
}

// Forgets to declare its weight, and to name the field that it reads.
class Forgetful final : public UnaryLayer {
 public:
  Forgetful(const std::string& name, bool asks_for_field)
      : UnaryLayer(name), asks_for_field_(asks_for_field) {}
  [[nodiscard]] std::string kind() const override { return "forgetful"; }

 protected:
  Variable run(Context& context, const Variable& x) const override {
    if (asks_for_field_) (void)context.field("nothing");
    (void)context.parameter(weight_);
    return x;
  }

 private:
  bool asks_for_field_;
  Slot weight_;
};

// Both were called a bug of ours, and no layer was named.
TEST(Containers, NameALayerThatAsksForWhatItDidNotDeclare) {
  const auto refused = [](std::unique_ptr<Layer> layer) {
    SmallNetwork network(layers_of(linear_layer("first", 3, 3), std::move(layer)));
    try {
      (void)network.evaluate(network.random({4, 3}, 1));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Input);
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_EQ(refused(std::make_unique<Forgetful>("own", false)),
            "layer 'own' (forgetful): asks for what it has not declared: name it in "
            "Layer::declare()");
  EXPECT_EQ(refused(std::make_unique<Forgetful>("own", true)),
            "layer 'own' (forgetful): uses the batch field 'nothing' without naming it in "
            "Layer::reads()");
  // The innermost one is named.
  EXPECT_THAT(refused(std::make_unique<Residual>(
                  "r", layers_of(std::make_unique<Forgetful>("r.own", false)), Layers{})),
              ::testing::StartsWith("layer 'r.own' (forgetful): asks"));
}

}  // namespace
}  // namespace penstock
