// Counted costs against closed forms and against each other: what more samples, other optimizers,
// windows and frozen layers change, also of a network that no machine holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/planning/costs/layer_costs.h"
#include "tests/unit/planning/costs/counted_networks.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// A block of a Transformer has 12 matrices of w x w and their like, and five iterations for each.
TEST(LayerCosts, ProductsOfMuonTakeTheirTime) {
  ModelConfig config = transformer();
  config.width = 1024;
  config.hidden = 4096;
  OptimizerConfig muon;
  muon.kind = "muon";
  const ModelCosts by_adamw = counted(config, 4, DType::F32, {}, "a100");
  const ModelCosts by_muon = counted(config, 4, DType::F32, muon, "a100");
  const double width = 1024.0;
  const double square = 5 * 6 * std::pow(width, 3);          // of w x w: the attention has four
  const double wide = 5 * (4 * 4 + 2) * std::pow(width, 3);  // of w x 4 w
  const double peak = device_model_named("a100").fp32.rate(ProductKind::Linear);
  const double longer = by_muon.layers.at(1).update_s - by_adamw.layers.at(1).update_s;
  EXPECT_GT(longer, (4 * square + 2 * wide) / peak);
  EXPECT_LT(longer, 2 * (4 * square + 2 * wide) / peak);
  // The embedding is AdamW's.
  EXPECT_EQ(by_muon.layers.at(0).update_s, by_adamw.layers.at(0).update_s);
}

TEST(LayerCosts, TimeGrowsWithTheBatch) {
  const ModelCosts one = counted(transformer(), 64);
  const ModelCosts two = counted(transformer(), 128);
  for (size_t i = 0; i < one.layers.size(); ++i) {
    SCOPED_TRACE(one.layers[i].name);
    EXPECT_DOUBLE_EQ(two.layers[i].forward_flops, 2 * one.layers[i].forward_flops);
    EXPECT_GT(two.layers[i].forward_s, one.layers[i].forward_s);
    EXPECT_GT(two.layers[i].backward_s, one.layers[i].backward_s);
    EXPECT_NEAR(two.layers[i].update_s, one.layers[i].update_s, 1e-9 * one.layers[i].update_s);
    EXPECT_EQ(two.layers[i].parameter_bytes, one.layers[i].parameter_bytes);
  }
}

TEST(LayerCosts, TheHalvesMakeTheWhole) {
  for (const LayerCost& layer : counted(transformer(), 16).layers) {
    EXPECT_NEAR(layer.backward_input_s + layer.backward_weight_s, layer.backward_s,
                1e-9 * layer.backward_s)
        << layer.name;
  }
}

// The backward makes the loss in pieces, with one product for the logits and two for the gradients;
// its halves apart make the logits twice.
TEST(LayerCosts, OfALossInPieces) {
  ModelConfig config = large_vocabulary();
  config.width = 256;
  const ModelCosts costs = counted(config, 40);
  const LayerCost& classifier = costs.layers.back();
  ASSERT_EQ(classifier.kind, "classifier");
  const double rows = 40.0 * 32;
  const double logits = rows * 33000;
  const double product = 2 * logits * 256;
  EXPECT_NEAR(classifier.forward_flops, product, 0.02 * product);
  const double product_s = product / device_model_named("cpu").fp32.rate(ProductKind::Linear);
  EXPECT_LT(classifier.forward_s, 0.01 * product_s);
  EXPECT_GT(classifier.backward_s, 3 * product_s);
  const double apart = classifier.backward_input_s + classifier.backward_weight_s;
  EXPECT_GT(apart, classifier.backward_s + product_s);
  EXPECT_LT(apart, classifier.backward_s + 2 * product_s);
  // Of the logits there is one piece at a time, in an evaluation, too.
  const int64_t piece_bytes = int64_t{448} * 33000 * 4;
  for (const int64_t peak : {classifier.forward_peak_bytes, classifier.backward_peak_bytes,
                             classifier.backward_input_peak_bytes}) {
    EXPECT_GT(peak, piece_bytes);
    EXPECT_LT(peak, piece_bytes + (8 << 20));
  }
  EXPECT_LT(classifier.tape_bytes, 2 << 20);
}

TEST(LayerCosts, ClosedFormOfATransformerBlock) {
  ModelConfig config = transformer();
  config.width = 1024;
  config.heads = 16;
  config.context = 256;
  const ModelCosts costs = counted(config, 4, DType::BF16, {}, "a100");
  const double tokens = 4.0 * 256;
  const double products = 2 * tokens * 12 * 1024 * 1024 + 2 * tokens * 256 * 1024;
  const LayerCost& block = costs.layers.at(1);
  EXPECT_EQ(block.kind, "transformer-block");
  EXPECT_NEAR(block.forward_flops, products, 0.01 * products);
  // One narrowed copy of each matrix on a device that packs nothing.
  EXPECT_EQ(block.workspace_bytes, 2 * 12 * 1024 * 1024);
  // Twice the forward in backward, but for passes that move memory.
  EXPECT_GT(block.backward_s, 1.8 * block.forward_s);
  EXPECT_LT(block.backward_s, 3.0 * block.forward_s);
}

TEST(LayerCosts, OptimizersKeepWhatTheyKeep) {
  OptimizerConfig sgd;
  sgd.kind = "sgd";
  sgd.momentum = 0.0;
  const ModelCosts none = counted(mlp(), 4, DType::F32, sgd);
  EXPECT_EQ(total(none, &LayerCost::optimizer_bytes), 0);
  OptimizerConfig averaged;
  averaged.moving_average = 0.99;
  const ModelCosts three = counted(mlp(), 4, DType::F32, averaged);
  for (const LayerCost& layer : three.layers) {
    EXPECT_EQ(layer.optimizer_bytes, 3 * layer.parameter_bytes) << layer.name;
  }
}

// There are averages of statistics, too, though no optimizer's state: as much as is held in all.
TEST(LayerCosts, AveragesAreOfWeightsAndStatistics) {
  const ModelConfig config = resnet_config("cifar", 20);
  OptimizerConfig averaged;
  averaged.moving_average = 0.99;
  const ModelCosts with = counted(config, 2, DType::F32, averaged);
  const ModelCosts without = counted(config, 2);
  for (size_t i = 0; i < with.layers.size(); ++i) {
    EXPECT_EQ(with.layers[i].optimizer_bytes - without.layers[i].optimizer_bytes,
              with.layers[i].parameter_bytes)
        << with.layers[i].name;
  }
}

// The address sanitizer keeps for a while what has been given back.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kGivesMemoryBack = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kGivesMemoryBack = false;
#else
constexpr bool kGivesMemoryBack = true;
#endif
#else
constexpr bool kGivesMemoryBack = true;
#endif

int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

TEST(LayerCosts, ANetworkThatNoMachineHolds) {
  ModelConfig config = transformer();  // GPipe's Transformer of 84 billion parameters, about
  config.layers = 100;
  config.width = 8192;
  config.heads = 128;
  config.hidden = 32768;
  config.context = 1024;
  config.vocabulary = 32000;
  const int64_t before = resident_bytes();
  const ModelCosts costs = counted(config, 32, DType::BF16, {}, "tpu-v3");
  if (kGivesMemoryBack) {
    EXPECT_LT(resident_bytes() - before, int64_t{16} << 20);
  }
  EXPECT_GT(total(costs, &LayerCost::parameters), int64_t{80'000'000'000});
  EXPECT_EQ(total(costs, &LayerCost::optimizer_bytes),
            2 * total(costs, &LayerCost::gradient_bytes));
}

TEST(LayerCosts, EqualLayersAreWalkedOnce) {
  ModelConfig config = transformer();
  config.layers = 2000;
  const auto device = make_cpu_device(1);
  const Sequential model = build_model(config, 0, 0);
  // Measured one by one these would take minutes; meeting points count what is measured.
  int measured = 0;
  const ModelCosts costs = measured_costs(model, input_of(config), 1, DType::F32, {}, *device,
                                          [&measured] { ++measured; });
  EXPECT_EQ(measured, 4);  // embedding, blocks, norm, classifier
  EXPECT_EQ(costs.layers.size(), model.layers.size());
  EXPECT_EQ(costs.layers[1].forward_s, costs.layers[2000].forward_s);
  EXPECT_NE(costs.layers[1].name, costs.layers[2000].name);
  for (const LayerCost& layer : costs.layers) {
    EXPECT_GT(layer.forward_s, 0) << layer.name;
    EXPECT_GT(layer.backward_s, 0) << layer.name;
    EXPECT_GT(layer.forward_flops, 0) << layer.name;
  }
}

TEST(LayerCosts, LayersOfOtherWorkAreNotEqual) {
  ModelConfig config = token_sequence(
      {entry("embedding", {{"width", int64_t{16}}}), entry("activation"), entry("classifier")});
  config.sequence[1] = entry("relu");
  config.sequence.insert(config.sequence.begin() + 2, entry("gelu"));
  config.sequence.insert(config.sequence.begin() + 3, entry("relu"));
  const ModelCosts costs = counted(config, 4);
  EXPECT_EQ(costs.layers[1].forward_flops, costs.layers[3].forward_flops);
  EXPECT_LT(costs.layers[1].forward_flops, costs.layers[2].forward_flops);
}

// Two bytes for each number of a matrix where there were four and a copy of two; the rest of the
// block's are biases and norms.
TEST(LayerCosts, OfFrozenMatricesInHalfPrecision) {
  const auto block = [](DType dtype, const OptimizerConfig& optimizer) {
    return counted(transformer(), 16, dtype, optimizer, "a100").layers.at(1);
  };
  OptimizerConfig frozen;
  frozen.freeze = {"blocks.*"};
  const LayerCost trained = block(DType::BF16, {});
  const LayerCost kept = block(DType::BF16, frozen);
  const int64_t matrices = 12 * 64 * 64;
  EXPECT_EQ(trained.workspace_bytes, 2 * matrices);
  EXPECT_EQ(kept.workspace_bytes, 0);
  EXPECT_EQ(trained.parameter_bytes - kept.parameter_bytes, 2 * matrices);
  EXPECT_EQ(block(DType::F32, frozen).parameter_bytes, trained.parameter_bytes);
}

// Where biases alone are trained, their sums are all that is left of the weight halves.
TEST(LayerCosts, FrozenMatricesCostNoProduct) {
  ModelConfig wide = transformer();
  wide.width = 256;
  OptimizerConfig biases;
  biases.freeze = {"*", "!*.bias"};
  const LayerCost all = counted(wide, 16).layers.at(2);
  const LayerCost some = counted(wide, 16, DType::F32, biases).layers.at(2);
  EXPECT_GT(some.gradient_bytes, 0);
  EXPECT_LT(some.backward_weight_s, 0.2 * all.backward_weight_s);
  EXPECT_NEAR(some.backward_input_s, all.backward_input_s, 1e-9 * all.backward_input_s);
}

TEST(DeviceModels, AreKnownByName) {
  EXPECT_GT(device_model_named("h100").products(DType::BF16).rate(ProductKind::Linear),
            device_model_named("a100").products(DType::BF16).rate(ProductKind::Linear));
  EXPECT_EQ(device_model_named("cpu", 2).products(DType::F32).rate(ProductKind::Linear),
            2 * device_model_named("cpu").products(DType::F32).rate(ProductKind::Linear));
  EXPECT_EQ(device_model_named("tpu-v2").memory_bytes, int64_t{8} << 30);
  EXPECT_THAT(
      input_error_of([] { (void)device_model_named("h1000"); }),
      HasSubstr("unknown device model 'h1000'; known are cpu, h200, h100, b200, a100, rtx-4090"));
}

// An accelerator holds copies of batch fields; the CPU reads the loader's. 16 x 32 ids take 2048
// bytes; a layer that reads nothing has none.
TEST(LayerCosts, OfWhatIsCopiedToAnAccelerator) {
  const ModelCosts there = counted(transformer(), 16, DType::F32, {}, "h100");
  for (const LayerCost* layer : {&there.layers.front(), &there.layers.back()}) {
    ASSERT_EQ(layer->reads.size(), 1U) << layer->name;
    EXPECT_EQ(layer->reads[0].bytes, 16 * 32 * 4) << layer->name;
  }
  EXPECT_EQ(there.layers.front().reads[0].name, "tokens");
  EXPECT_EQ(there.layers.back().reads[0].name, "labels");
  EXPECT_TRUE(there.layers[1].reads.empty());
  for (const LayerCost& layer : counted(transformer(), 16).layers) {
    EXPECT_TRUE(layer.reads.empty()) << layer.name;
  }
}

// A layer with a window costs what it does where all have one, the others what they do without.
TEST(LayerCosts, OfWindowsOfSomeLayers) {
  ModelConfig config = transformer();
  config.kind = "decoder";
  const ModelCosts none = counted(config, 16);
  config.window = 4;
  const ModelCosts all = counted(config, 16);
  config.window_layers = {1};
  const ModelCosts some = counted(config, 16);
  const auto attention = [](const ModelCosts& costs, int64_t block) {
    return costs.layers[static_cast<size_t>(1 + 2 * block)].forward_flops;
  };
  EXPECT_LT(attention(all, 1), attention(none, 1));
  EXPECT_EQ(attention(some, 0), attention(none, 0));
  EXPECT_EQ(attention(some, 1), attention(all, 1));
  EXPECT_EQ(attention(some, 2), attention(none, 2));
}

// Frozen layers behind data are run forward and no more.
TEST(LayerCosts, OfWhatIsFrozen) {
  OptimizerConfig optimizer;
  optimizer.freeze = {"embedding.*", "blocks.0.*", "blocks.2.*"};
  const ModelCosts all = counted(transformer(), 16);
  const ModelCosts some = counted(transformer(), 16, DType::F32, optimizer);
  for (size_t i : {0, 1}) {  // embedding and first block
    // Differences of one running sum, which stands elsewhere when backward costs nothing.
    EXPECT_NEAR(some.layers[i].forward_s, all.layers[i].forward_s, 1e-9 * all.layers[i].forward_s);
    EXPECT_EQ(some.layers[i].parameter_bytes, all.layers[i].parameter_bytes);
    EXPECT_EQ(some.layers[i].backward_s, 0.0);
    EXPECT_LT(some.layers[i].update_s, all.layers[i].update_s);
    EXPECT_EQ(some.layers[i].tape_bytes, 0);
    EXPECT_EQ(some.layers[i].gradient_bytes, 0);
    EXPECT_EQ(some.layers[i].optimizer_bytes, 0);
  }
  // The second block's inputs have no gradient; the third block passes them on.
  EXPECT_LT(some.layers[2].backward_s, all.layers[2].backward_s);
  EXPECT_EQ(some.layers[2].gradient_bytes, all.layers[2].gradient_bytes);
  EXPECT_LT(some.layers[3].backward_s, all.layers[3].backward_s);
  EXPECT_GT(some.layers[3].backward_s, 0.0);
  EXPECT_EQ(some.layers[3].gradient_bytes, 0);
  EXPECT_NEAR(some.layers[4].backward_s, all.layers[4].backward_s, 1e-9 * all.layers[4].backward_s);
}

}  // namespace
}  // namespace penstock
