// runtime/network/layers/skip.h -- skip connections: a tensor that goes from one layer directly to
// a later one, however many layers and stages lie between (Ronneberger et al. 2015; Kim et al.
// 2020, "torchgpipe", section 3.2.3). Forward it travels once, and its gradient once back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/layers/layer.h"

namespace penstock {

// (x, ...) -> (x, ...), and x leaves under the name of the skip.
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

// x and what was stashed under that name, as one: side by side along the last axis (channels), or
// added.
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
// The skips in the order of their stashes. Throws Error(Input) naming the layer for a skip that is
// stashed or popped twice, popped before it is stashed, or never popped.
[[nodiscard]] std::vector<SkipPath> find_skips(const Layers& layers);

// Shapes on their way through a network, skips included.
class ShapeWalk {
 public:
  explicit ShapeWalk(Shapes entering);
  // Passes this layer, the next of the walk, and returns what enters it; a popped tensor comes
  // last. Throws Error(Input) where the layer refuses its inputs.
  Shapes next(const Layer& layer);
  // The shapes that go from the last layer passed to the one after it.
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
