// runtime/network/layers/layer.h -- Layer: the unit that a network is made of and that stages are
// cut between.
//
// A layer writes only its forward, with the functions of runtime/network/autograd; gradients,
// pipelining, recompute and devices are none of its business. A layer never changes after it was
// made: its parameters and buffers lie in a stage, which it asks for them by Slot (slot.h).
// Networks of your own: derive from Layer (or UnaryLayer), and list the layers in a Sequential.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/network/autograd/functions.h"
#include "runtime/network/layers/context.h"

namespace penstock {

class Layer {
 public:
  // `name` is the full name and the prefix of the parameters': "blocks.7.attention".
  explicit Layer(std::string name) : name_(std::move(name)) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  // The type, for messages and tables: "self-attention".
  [[nodiscard]] virtual std::string kind() const = 0;
  // The shapes of the outputs, the batch being axis 0. Throws Error(Input) naming the layer when
  // the inputs misfit.
  [[nodiscard]] virtual Shapes infer(const Shapes& inputs) const = 0;
  // Adds to `set` all that the layer owns, each thing with a slot of its own; allocates nothing.
  virtual void declare(ParameterSet& /*set*/) const {}
  // Computes the outputs, by functions that record themselves on context.tape.
  virtual Variables forward(Context& context, const Variables& inputs) const = 0;
  // The batch fields that forward() asks Context::field for.
  [[nodiscard]] virtual std::vector<std::string> reads() const { return {}; }
  // The field of reads() that holds the targets of a loss: in an I32 field every number >= 0 is
  // one, a field of another type has one for each sample. Empty: the layer is no loss.
  [[nodiscard]] virtual std::string targets() const { return {}; }
  // Folds the step sums into the layer's buffers; called once after every training step.
  virtual void end_step(const StepEnd& /*end*/) const {}
  // How many numbers the layer keeps for each position of a row while tokens are generated: keys
  // and values (past.h).
  [[nodiscard]] virtual int64_t past_width() const { return 0; }

  // ---- skip connections (runtime/network/layers/skip.h); not inside a container
  // The name under which the last output goes to a later layer, past those between; empty: none.
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

// A network: the batch fields that enter the first layer, then the layers.
struct Sequential {
  std::vector<std::string> inputs;  // names
  Layers layers;
};

}  // namespace penstock
