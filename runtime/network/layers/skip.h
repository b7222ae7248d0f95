// runtime/network/layers/skip.h -- skip connections: a tensor that goes from one layer directly to
// a later one, however many layers and stages lie between (Ronneberger et al. 2015; Kim et al.
// 2020, "torchgpipe", section 3.2.3). The tensor travels forward once, and its gradient back once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/layers/layer.h"

namespace penstock {

// (x, ...) -> (x, ..., x): the last output goes to the Pop of the same skip.
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

// (x, s) -> one tensor: x and s, which the Stash of the same skip sent, side by side along the last
// axis (channels), or added.
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

// A skip of a network, by the numbers of its layers.
struct SkipPath {
  std::string name;
  size_t from_layer = 0, to_layer = 0;
};
// Finds the skips, in the order of their stashes. Throws Error(Input) naming the layer for a skip
// that is stashed or popped twice, popped before it is stashed, or never popped.
[[nodiscard]] std::vector<SkipPath> find_skips(const Layers& layers);

// The shapes between the layers of a network, computed layer by layer, skips included.
class ShapeWalk {
 public:
  explicit ShapeWalk(Shapes entering);
  // Passes `layer`, the next of the network, and returns the shapes that enter it, that of a popped
  // tensor last. Throws Error(Input) where the layer refuses its inputs.
  Shapes next(const Layer& layer);
  // The shapes that the last layer passed hands to the layer after it.
  [[nodiscard]] const Shapes& between() const { return between_; }
  // The shape of a skip whose stash was passed.
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
