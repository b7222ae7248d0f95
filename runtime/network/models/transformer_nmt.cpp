// The encoder-decoder T(L, H, A) of GPipe's translation models (Huang et al. 2019, 5): L pre-norm
// encoder and L decoder blocks, feed-forward width H, A heads of width 64, so that the attention is
// as wide as there are heads and its projections are not square.
//
// Stages are cut anywhere: the source enters the first layer, the target is read by the layer that
// begins the decoder, lengths by whoever attends to the source. From there on two tensors cross
// every boundary, the encoder's output ("memory") and the decoder's stream; the last block lets go
// of the first.
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"
#include "runtime/network/models/models.h"
#include "runtime/network/models/transformer_parts.h"

namespace penstock {
namespace {

constexpr const char* kSourceLengths = "source_lengths";

// Takes the encoder's output ("memory") and returns two tensors: the memory and the embedded
// target.
class DecoderInput final : public Layer {
 public:
  DecoderInput(const ModelConfig& config, const std::string& name, int64_t vocabulary)
      : Layer(name), embedding_(embedding_part(config, name, vocabulary)) {}
  [[nodiscard]] std::string kind() const override { return "decoder-input"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override {
    if (inputs.size() != 1) misfit("takes the encoder's output");
    const Shape target = {inputs[0][0], inputs[0][1]};  // as many positions as the source
    return {inputs[0], embedding_->infer({target})[0]};
  }
  void declare(ParameterSet& set) const override { embedding_->declare(set); }
  Variables forward(Context& context, const Variables& inputs) const override {
    const Variable target = {context.field("target_tokens"), -1};
    return {inputs[0], embedding_->forward(context, {target})[0]};
  }
  [[nodiscard]] std::vector<std::string> reads() const override { return {"target_tokens"}; }

 private:
  std::unique_ptr<Layer> embedding_;
};

// This is a part of the encoder. If words are chosen one by one, it computes only in the first
// round, whose keys and values the decoder keeps (runtime/network/layers/past.h). In later rounds
// it passes on its input, which nobody reads.
class EncoderPart final : public Layer {
 public:
  explicit EncoderPart(std::unique_ptr<Layer> body) : Layer(body->name()), body_(std::move(body)) {}
  [[nodiscard]] std::string kind() const override { return body_->kind(); }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override { return body_->infer(inputs); }
  void declare(ParameterSet& set) const override { body_->declare(set); }
  Variables forward(Context& context, const Variables& inputs) const override {
    return context.one_position() ? inputs : body_->forward(context, inputs);
  }
  [[nodiscard]] std::vector<std::string> reads() const override { return body_->reads(); }

 private:
  std::unique_ptr<Layer> body_;
};

// Takes (memory, x) and returns (memory, y); the last block returns y alone. To make y, a block
// attends to the target's words so far, then to the memory (the encoder's output), and ends with a
// feed-forward part.
class DecoderBlock final : public Layer {
 public:
  DecoderBlock(const ModelConfig& config, const std::string& name, const DepthFactors& factors,
               bool last)
      : Layer(name),
        last_(last),
        self_attention_(self_attention_part(config, name, true, "", factors)),
        norm_(name + ".norm2", widths_of(config).width),
        cross_attention_(name + ".cross_attention",
                         CrossAttention::Options{.width = widths_of(config).width,
                                                 .heads = config.heads,
                                                 .head_width = widths_of(config).head_width,
                                                 .causal = false,
                                                 .bias = config.attention_bias,
                                                 .dropout = config.dropout,
                                                 .out_init_factor = factors.residual,
                                                 .key_lengths = kSourceLengths}),
        feed_forward_(feed_forward_part(config, name, 3, factors)) {
    if (config.dropout > 0.0) {
      dropout_ = std::make_unique<Dropout>(name + ".cross_attention.dropout", config.dropout);
    }
  }
  [[nodiscard]] std::string kind() const override { return "decoder-block"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override {
    if (inputs.size() != 2) misfit("takes the encoder's output and the decoder's stream");
    const Shapes x = self_attention_->infer({inputs[1]});
    (void)cross_attention_.infer({x[0], inputs[0]});
    const Shapes y = feed_forward_->infer(x);
    return last_ ? y : Shapes{inputs[0], y[0]};
  }
  void declare(ParameterSet& set) const override {
    self_attention_->declare(set);
    norm_.declare(set);
    cross_attention_.declare(set);
    feed_forward_->declare(set);
  }
  Variables forward(Context& context, const Variables& inputs) const override {
    const Variable& memory = inputs[0];
    const Variable x = self_attention_->forward(context, {inputs[1]})[0];
    const Variable question = norm_.forward(context, {x})[0];
    Variable answer = cross_attention_.forward(context, {question, memory})[0];
    if (dropout_) answer = dropout_->forward(context, {answer})[0];
    const Variable y = feed_forward_->forward(context, {add(context.tape, x, answer)})[0];
    return last_ ? Variables{y} : Variables{memory, y};
  }
  [[nodiscard]] std::vector<std::string> reads() const override { return cross_attention_.reads(); }
  [[nodiscard]] int64_t past_width() const override {
    return self_attention_->past_width() + cross_attention_.past_width();
  }

 private:
  bool last_;
  std::unique_ptr<Layer> self_attention_;
  LayerNorm norm_;
  CrossAttention cross_attention_;
  std::unique_ptr<Layer> dropout_;  // null without dropout
  std::unique_ptr<Layer> feed_forward_;
};

std::unique_ptr<Layer> encoder_block(const ModelConfig& config, const std::string& name,
                                     const DepthFactors& factors) {
  Layers layers;
  layers.push_back(self_attention_part(config, name, false, kSourceLengths, factors));
  layers.push_back(feed_forward_part(config, name, 2, factors));
  return std::make_unique<EncoderPart>(
      std::make_unique<Group>(name, "encoder-block", std::move(layers)));
}

}  // namespace

Sequential transformer_nmt(const ModelConfig& config, int64_t vocabulary) {
  const int64_t width = widths_of(config).width;
  const int64_t decoder_blocks = config.decoder_layers > 0 ? config.decoder_layers : config.layers;
  Sequential model;
  Layers& layers = model.layers;
  layers.push_back(embedding_part(config, "encoder.embedding", vocabulary));
  for (int64_t i = 0; i < config.layers; ++i) {
    layers.push_back(encoder_block(config, "encoder.blocks." + std::to_string(i),
                                   depth_factors(config, config.layers, 2)));
  }
  if (config.final_norm) {
    layers.push_back(
        std::make_unique<EncoderPart>(std::make_unique<LayerNorm>("encoder.norm", width)));
  }
  layers.push_back(std::make_unique<DecoderInput>(config, "decoder.embedding", vocabulary));
  for (int64_t i = 0; i < decoder_blocks; ++i) {
    layers.push_back(std::make_unique<DecoderBlock>(config, "decoder.blocks." + std::to_string(i),
                                                    depth_factors(config, decoder_blocks, 3),
                                                    i + 1 == decoder_blocks));
  }
  if (config.final_norm) layers.push_back(std::make_unique<LayerNorm>("decoder.norm", width));
  layers.push_back(classifier_part(config, vocabulary));
  return model;
}

}  // namespace penstock
