// runtime/network/layers/layer.h -- Layer: the unit that a network is made of; a pipeline's stages
// are cut between layers.
//
// A layer writes only its forward, by calling the functions of
// runtime/network/autograd/functions.h, which record what a backward needs; gradients, pipelining,
// recompute and devices are none of its business. A layer object never changes after it was made
// and holds no weights: its parameters and buffers lie in a stage, from which forward() gets them
// by Slot (slot.h). So the planner and the pipeline can use the same layer objects at once. For a
// network of your own, derive from Layer or UnaryLayer and list the layers in a Sequential
// (example: launch/examples/own_network.cpp).
//
// Order of the calls: infer() and declare() before the first step; then forward() for each
// micro-batch, and again where it is recomputed; end_step() once after each training step.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/network/autograd/functions.h"
#include "runtime/network/layers/context.h"

namespace penstock {

class Layer {
 public:
  // `name` is the layer's full name, "blocks.7.attention"; names of its parameters begin with it:
  // "blocks.7.attention.query.weight".
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // The type, for messages and tables: "self-attention".
  [[nodiscard]] virtual std::string kind() const = 0;
  // The shapes of the outputs for inputs of these shapes; axis 0 is the samples. Throws
  // Error(Input) naming the layer when the layer cannot take such inputs.
  [[nodiscard]] virtual Shapes infer(const Shapes& inputs) const = 0;
  // Adds to `set` each parameter, buffer, step sum and constant of the layer (parameter_set.h),
  // with a slot of its own; allocates nothing. Default: the layer has none.
  virtual void declare(ParameterSet& /*set*/) const {}
  // Computes the outputs, by functions that record themselves on context.tape.
  virtual Variables forward(Context& context, const Variables& inputs) const = 0;
  // The fields of the data ("labels") that forward() asks Context::field() for. The stage that
  // holds the layer then loads these fields, whichever stage it is.
  [[nodiscard]] virtual std::vector<std::string> reads() const { return {}; }
  // For a loss layer, the field of reads() that it compares with. The program counts targets in it:
  // in an I32 field every number >= 0 is a target; in a field of another type each sample has one.
  // Empty: the layer is no loss.
  [[nodiscard]] virtual std::string targets() const { return {}; }
  // Folds the sums of the step (StepSums) into the layer's buffers: batch norm updates its moving
  // averages. Called once after every training step.
  virtual void end_step(const StepEnd& /*end*/) const {}
  // How many numbers the layer keeps for each position of a row while tokens are generated, its
  // cached keys and values (past.h); 0: none.
  [[nodiscard]] virtual int64_t past_width() const { return 0; }

  // ---- skip connections (skip.h); layers inside a container (container.h) cannot have any
  // The name of the skip that the last output begins: it goes to the layer whose pops() is the same
  // name, and not to the next layer. Empty: none.
  [[nodiscard]] virtual std::string stashes() const { return {}; }
  // The name of the skip that comes in as the last input; empty: none.
  [[nodiscard]] virtual std::string pops() const { return {}; }

 protected:
  // Throws Error(Input): "layer 'blocks.0.attention' (self-attention): <what>".
  [[noreturn]] void misfit(const std::string& what) const;

 private:
  std::string name_;
};

// A layer with one tensor in and one out, as most are. A derived class writes shape_of(), the
// output's shape, and run(), its forward.
class UnaryLayer : public Layer {
 public:
  using Layer::Layer;
  [[nodiscard]] Shapes infer(const Shapes& inputs) const final;
  Variables forward(Context& context, const Variables& inputs) const final;

 protected:
  [[nodiscard]] virtual Shape shape_of(const Shape& input) const { return input; }
  virtual Variable run(Context& context, const Variable& x) const = 0;
};

using Layers = std::vector<std::unique_ptr<Layer>>;

// A network: its layers in order, each of which takes the outputs of the one before it (plus
// skips).
struct Sequential {
  std::vector<std::string> inputs;  // names of the fields of the data that enter the first layer
  Layers layers;
};

}  // namespace penstock
