// runtime/layers/layer.h -- Layer: the unit that a network is made of and that stages are cut
// between.
//
// A layer writes only its forward, with the functions of runtime/autograd; gradients,
// pipelining, recompute and devices are none of its business. Networks of your own: derive from
// Layer (or UnaryLayer), and list the layers in a Sequential.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/autograd/functions.h"
#include "runtime/autograd/parameter.h"
#include "runtime/autograd/tape.h"
#include "runtime/layers/past.h"

namespace penstock {

// A tensor that belongs to a layer but is not trained by gradients: moving averages. fp32.
struct Buffer {
  std::string name;  // "blocks.2.norm.running_mean"
  Shape shape;
  float initial = 0.0F;
  Tensor value;  // empty until the stage allocates it
};

// Sums that a layer gathers during one step: set to zero before it, added to by the micro-batches
// in ascending order, summed over all replicas, then read in Layer::end_step(). fp32.
struct StepSums {
  Shape shape;
  Tensor value;
};

// What the layers of a stage own, in the order of declaration. Addresses stay valid.
class ParameterSet {
 public:
  // Throws Error(Input) when the name is taken.
  Parameter& add(const std::string& name, const Shape& shape, const Initializer& init);
  // A parameter that other layers hold too, in this set or another, under the same name, shape and
  // initialiser. Throws Error(Input) when an earlier holder's shape differs.
  Parameter& share(const std::string& name, const Shape& shape, const Initializer& init);
  Buffer& add_buffer(const std::string& name, const Shape& shape, float initial);
  StepSums& add_step_sums(const Shape& shape);

  [[nodiscard]] std::deque<Parameter>& parameters() { return parameters_; }
  [[nodiscard]] const std::deque<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] std::deque<Buffer>& buffers() { return buffers_; }
  [[nodiscard]] std::deque<StepSums>& step_sums() { return step_sums_; }
  [[nodiscard]] int64_t elements() const;  // of all parameters, shared ones once

 private:
  void claim(const std::string& name);
  std::unordered_set<std::string> names_;
  std::deque<Parameter> parameters_;
  std::deque<Buffer> buffers_;
  std::deque<StepSums> step_sums_;
};

// Everything about the moment in which a forward runs.
struct Context {
  Tape& tape;
  DType dtype = DType::F32;  // of activations
  bool training = true;      // dropout on, norms use the micro-batch
  bool recomputing = false;  // the same forward a second time: count nothing twice
  uint64_t seed = 0;
  int64_t step = 0;
  int64_t micro_batch = 0;                                // global index, over all replicas
  float loss_scale = 1.0F;                                // 1 / targets of the whole mini-batch
  std::vector<std::string> const* field_names = nullptr;  // of the micro-batch, for reads()
  std::vector<Tensor> const* fields = nullptr;
  const Decoding* decoding = nullptr;  // words are being chosen: see past.h
  Tensor* loss = nullptr;  // a loss layer leaves its F64 [3] here (TokenOps::cross_entropy_forward)
  Replicas* replicas = nullptr;         // that norms share their statistics with; null: with none
  Tensors* auxiliary_losses = nullptr;  // an AuxiliaryLoss adds its own here; null: nobody asks

  [[nodiscard]] Device& device() const { return tape.device(); }
  // The inputs are one position of each row, and the layer knows its past.
  [[nodiscard]] bool one_position() const { return decoding != nullptr && decoding->one_position; }
  // Throws Error(Internal) when the loader was not asked for it: see Layer::reads().
  [[nodiscard]] const Tensor& field(const std::string& name) const;
  // The random numbers of one use in this micro-batch; the hash is of the user's full name.
  [[nodiscard]] RandomStream random(uint64_t name_hash) const {
    return random_stream(seed, name_hash, static_cast<uint64_t>(step),
                         static_cast<uint64_t>(micro_batch));
  }
  // The same for all micro-batches of the step: for what is drawn by sample.
  [[nodiscard]] RandomStream random_of_step(uint64_t name_hash) const {
    return random_stream(seed, name_hash, static_cast<uint64_t>(step));
  }
};

// At the end of a step, after the replicas' sums were added up.
struct StepEnd {
  Device& device;
  int replicas = 1;
};

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
  // Announces parameters and buffers; allocates nothing. The last set announced to is the one that
  // forward() uses; what a layer kept on the device of an earlier one is let go.
  virtual void declare(ParameterSet& /*set*/) {}
  virtual Variables forward(Context& context, const Variables& inputs) = 0;
  // Batch fields that forward() asks Context::field for.
  [[nodiscard]] virtual std::vector<std::string> reads() const { return {}; }
  // Of a loss: the one of reads() that has its targets, one for each number that is not negative
  // (a field of I32), or one for each sample (of another type). Empty: no loss.
  [[nodiscard]] virtual std::string targets() const { return {}; }
  virtual void end_step(StepEnd& /*end*/) {}
  // Numbers that it keeps for a position of a row while words are chosen: keys and values (past.h).
  [[nodiscard]] virtual int64_t past_width() const { return 0; }

  // ---- skip connections (runtime/layers/skip.h); not inside a container
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
  Variables forward(Context& context, const Variables& inputs) final;

 protected:
  [[nodiscard]] virtual Shape shape_of(const Shape& input) const { return input; }
  virtual Variable run(Context& context, const Variable& x) = 0;
};

using Layers = std::vector<std::unique_ptr<Layer>>;

// A network: the batch fields that enter the first layer, then the layers.
struct Sequential {
  std::vector<std::string> inputs;
  Layers layers;
};

}  // namespace penstock
