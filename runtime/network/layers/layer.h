// runtime/network/layers/layer.h -- Layer: the unit that a network is made of and that stages are
// cut between.
//
// A layer writes only its forward, with the functions of runtime/network/autograd; gradients,
// pipelining, recompute and devices are none of its business. It only describes: it changes nothing
// of itself after it was made, and what it owns lies in a stage (slot.h). Networks of your own:
// derive from Layer (or UnaryLayer), and list the layers in a Sequential.
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
  [[nodiscard]] virtual std::string kind() const = 0;
  // Shapes out, the batch being axis 0. Throws Error(Input) naming the layer when the inputs
  // misfit.
  [[nodiscard]] virtual Shapes infer(const Shapes& inputs) const = 0;
  // Says what the layer owns, each thing with a slot of its own; allocates nothing.
  virtual void declare(ParameterSet& /*set*/) const {}
  virtual Variables forward(Context& context, const Variables& inputs) const = 0;
  // The batch fields that forward() asks Context::field for.
  [[nodiscard]] virtual std::vector<std::string> reads() const { return {}; }
  // The one of reads() that has the targets of a loss: one for each number that is not negative (a
  // field of I32), or one for each sample (of another type). Empty: the layer is no loss.
  [[nodiscard]] virtual std::string targets() const { return {}; }
  virtual void end_step(const StepEnd& /*end*/) const {}
  // The number of numbers that the layer keeps for a position of a row while words are chosen: keys
  // and values (past.h).
  [[nodiscard]] virtual int64_t past_width() const { return 0; }

  // ---- skip connections (runtime/network/layers/skip.h); not inside a container
  // The name under which the last output goes to a later layer, past those between; empty: none.
  [[nodiscard]] virtual std::string stashes() const { return {}; }
  // The name of the skip that comes in as the last input; empty: none.
  [[nodiscard]] virtual std::string pops() const { return {}; }

 protected:
  // "layer 'blocks.0.attention' (attention): <what>"
  [[noreturn]] void misfit(const std::string& what) const;

 private:
  std::string name_;
};

// One tensor in, one tensor out: most layers.
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
  std::vector<std::string> inputs;
  Layers layers;
};

}  // namespace penstock
