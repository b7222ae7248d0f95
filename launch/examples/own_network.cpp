// launch/examples/own_network.cpp -- a network of your own in C++: one new layer, and a stack of
// it.
//
//   mpirun -n 2 --bind-to none own_network train launch/examples/own_network.toml --stages 2
//
// The layer is a gated linear unit with a residual connection (Dauphin et al. 2017; here
// x + W_out(silu(W_gate x) * (W_in x)), the form of Shazeer 2020). It writes its forward and
// nothing else: gradients, recompute and the pipeline follow from the ops it calls.
#include <memory>
#include <string>

#include "launch/penstock.h"

namespace {

using namespace penstock;  // NOLINT(google-build-using-namespace): a program, not a header

class GatedUnit final : public UnaryLayer {  // [batch, width] -> [batch, width]
 public:
  GatedUnit(const std::string& name, int64_t width, int64_t hidden)
      : UnaryLayer(name),
        norm_(name + ".norm", width),
        gate_(name + ".gate", {.in = width, .out = hidden, .activation = Activation::Silu}),
        in_(name + ".in", {.in = width, .out = hidden}),
        out_(name + ".out", {.in = hidden, .out = width, .init_factor = 0.5}) {}
  [[nodiscard]] std::string kind() const override { return "gated-unit"; }
  void declare(ParameterSet& set) const override {
    norm_.declare(set);
    gate_.declare(set);
    in_.declare(set);
    out_.declare(set);
  }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override {
    return norm_.infer({input})[0];  // throws if the width does not fit, and says why
  }
  Variable run(Context& context, const Variable& x) const override {
    const Variable normed = norm_.forward(context, {x})[0];
    const Variable gate = gate_.forward(context, {normed})[0];
    const Variable in = in_.forward(context, {normed})[0];
    const Variable gated = multiply(context.tape, gate, in);
    return add(context.tape, x, out_.forward(context, {gated})[0]);
  }

 private:
  LayerNorm norm_;
  Linear gate_, in_, out_;
};

ModelInput input(const ModelConfig& config) {
  return {"inputs", Shape(config.input), DType::F32, false};
}

Sequential build(const ModelConfig& config, int64_t /*vocabulary*/, int64_t classes) {
  if (config.input.size() != 1) fail_input("own_network: model.input must be [features]");
  const int64_t width = config.width > 0 ? config.width : 128;
  Sequential model;
  model.layers.push_back(
      std::make_unique<Linear>("stem", Linear::Options{.in = config.input[0], .out = width}));
  for (int64_t i = 0; i < config.layers; ++i) {
    model.layers.push_back(
        std::make_unique<GatedUnit>("units." + std::to_string(i), width, 2 * width));
  }
  model.layers.push_back(std::make_unique<ClassifierLoss>(
      "classifier", ClassifierLoss::Options{.width = width, .classes = classes}));
  return model;
}

}  // namespace

int main(int argc, char** argv) {
  return penstock::run_program(argc, argv, penstock::with_own_model({input, build}));
}
