#include "runtime/network/layers/skip.h"

#include <algorithm>

#include "runtime/network/layers/library/image.h"

namespace penstock {

Shapes Stash::infer(const Shapes& inputs) const {
  if (inputs.empty()) misfit("has nothing to stash");
  Shapes outputs = inputs;
  outputs.push_back(inputs.front());
  return outputs;
}

Variables Stash::forward(Context& context, const Variables& inputs) const {
  Variables outputs = inputs;
  const auto [on, aside] = duplicate(context.tape, inputs.front());
  outputs.front() = on;
  outputs.push_back(aside);
  return outputs;
}

Shapes Pop::infer(const Shapes& inputs) const {
  if (inputs.size() != 2) misfit("joins one tensor with the one that was stashed");
  Shape joined = inputs[0];
  const Shape& skipped = inputs[1];
  std::vector<int64_t> extents(joined.extents().begin(), joined.extents().end());
  if (join_ == Join::Concat && skipped.rank() == joined.rank()) {
    extents.back() = skipped.back();
    if (Shape(std::span<const int64_t>(extents)) == skipped) {
      extents.back() = joined.back() + skipped.back();
      return {Shape(std::span<const int64_t>(extents))};
    }
  }
  if (skipped != joined)
    misfit("cannot join " + image_text(joined) + " with " + image_text(skipped));
  return {joined};
}

Variables Pop::forward(Context& context, const Variables& inputs) const {
  if (join_ == Join::Add) return {add(context.tape, inputs[0], inputs[1])};
  return {concat(context.tape, inputs, inputs[0].shape().rank() - 1)};
}

std::vector<SkipPath> find_skips(const Layers& layers) {
  constexpr size_t kNowhere = 0;  // not popped yet: layer 0 cannot pop, as none stashes before it
  std::vector<SkipPath> skips;
  const auto named = [&](const std::string& name) {
    return std::find_if(skips.begin(), skips.end(),
                        [&](const SkipPath& skip) { return skip.name == name; });
  };
  for (size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = *layers[i];
    if (const std::string name = layer.pops(); !name.empty()) {
      const auto skip = named(name);
      if (skip == skips.end()) {
        fail_input("layer '" + layer.name() + "' pops the skip '" + name +
                   "', which no layer before it stashes");
      }
      if (skip->to_layer != kNowhere) {
        fail_input("layer '" + layer.name() + "' pops the skip '" + name + "', as '" +
                   layers[skip->to_layer]->name() + "' did before: stash it twice, by two names");
      }
      skip->to_layer = i;
    }
    if (const std::string name = layer.stashes(); !name.empty()) {
      if (named(name) != skips.end()) {
        fail_input("layer '" + layer.name() + "' stashes a second skip called '" + name + "'");
      }
      skips.push_back({name, i, kNowhere});
    }
  }
  for (const SkipPath& skip : skips) {
    if (skip.to_layer == kNowhere) {
      fail_input("the skip '" + skip.name + "' of layer '" + layers[skip.from_layer]->name() +
                 "' is never popped");
    }
  }
  return skips;
}

ShapeWalk::ShapeWalk(Shapes entering) : between_(std::move(entering)) {}

Shapes ShapeWalk::next(const Layer& layer) {
  Shapes inputs = between_;
  if (const std::string name = layer.pops(); !name.empty()) inputs.push_back(skipped(name));
  between_ = layer.infer(inputs);
  if (const std::string name = layer.stashes(); !name.empty()) {
    skipped_.push_back({name, between_.back()});
    between_.pop_back();
  }
  return inputs;
}

const Shape& ShapeWalk::skipped(const std::string& name) const {
  const auto found = std::find_if(skipped_.begin(), skipped_.end(),
                                  [&](const Skipped& skip) { return skip.name == name; });
  if (found == skipped_.end()) fail_input("no layer before it stashes a skip '" + name + "'");
  return found->shape;
}

}  // namespace penstock
