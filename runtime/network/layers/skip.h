// runtime/network/layers/skip.h -- skip connections between distant layers: a tensor that goes from
// one layer directly to a later one, however many layers and stages lie between, as in a U-Net
// (Ronneberger et al. 2015; Kim et al. 2020, "torchgpipe", section 3.2.3).
//
// The layers of a network are a chain. A Stash layer sends a copy of its input along as the skip
// called "name", and a Pop layer further down takes it out again:
//   conv, Stash("a"), conv, ..., Pop("a"), conv
// Between stages the tensor is sent once forward, straight to the stage of the Pop, and its
// gradient once back. What the overridden functions do is said in layer.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/layers/layer.h"

namespace penstock {

// (x, ...) -> (x, ..., x): the last output, a copy of the first input, goes to the Pop of the same
// skip; the next layer gets the others. `skip` is the name of the skip.
class Stash final : public Layer {
 public:
  Stash(std::string name, std::string skip) : Layer(std::move(name)), skip_(std::move(skip)) {}
  [[nodiscard]] std::string kind() const override { return "stash"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  Variables forward(Context& context, const Variables& inputs) const override;
  [[nodiscard]] std::string stashes() const override { return skip_; }

 private:
  std::string skip_;
};

// (x, s) -> one tensor, where x comes from the layer before and s from the Stash of the same skip:
// side by side along the last axis (channels), or added.
class Pop final : public Layer {
 public:
  enum class Join : uint8_t { Concat, Add };
  Pop(std::string name, std::string skip, Join join)
      : Layer(std::move(name)), skip_(std::move(skip)), join_(join) {}
  [[nodiscard]] std::string kind() const override { return "pop"; }
  [[nodiscard]] Shapes infer(const Shapes& inputs) const override;
  Variables forward(Context& context, const Variables& inputs) const override;
  [[nodiscard]] std::string pops() const override { return skip_; }

 private:
  std::string skip_;
  Join join_;
};

// A skip of a network, by the numbers, from 0, of the layers that stash and pop it.
struct SkipPath {
  std::string name;
  size_t from_layer = 0, to_layer = 0;
};
// Finds the skips, in the order of their stashes. Throws Error(Input) naming the layer for a skip
// that is stashed or popped twice, popped before it is stashed, or never popped.
[[nodiscard]] std::vector<SkipPath> find_skips(const Layers& layers);

// Computes the shapes between the layers of a network, layer by layer, skips included. The planner
// walks through a whole network so to know what goes from stage to stage.
class ShapeWalk {
 public:
  explicit ShapeWalk(Shapes entering);  // what enters the first layer
  // Called for each layer in turn: returns the shapes that enter `layer`, that of a popped tensor
  // last. Throws Error(Input) where the layer refuses its inputs.
  Shapes next(const Layer& layer);
  // The shapes that go from the layer of the last next() to the layer behind it, without skips.
  [[nodiscard]] const Shapes& between() const { return between_; }
  // The shape of that skip. Throws Error(Input) where next() has not seen its Stash.
  [[nodiscard]] const Shape& skipped(const std::string& name) const;

 private:
  struct Skipped {
    std::string name;
    Shape shape;
  };
  Shapes between_;
  std::vector<Skipped> skipped_;
};

}  // namespace penstock
