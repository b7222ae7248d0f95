// runtime/network/autograd/tape.h -- the tape (autograd graph): what a forward pass records so that
// a backward pass can compute the gradients.
//
// Functions (functions.h) compute at once and, while the tape records, each leaves a Node: what it
// must remember, and how to differentiate it. backward() runs the nodes from the last to the first.
// A backward has two halves, which a schedule may run at different times (zero-bubble schedules, Qi
// et al. 2024):
//   input half   of each node: from the gradients of its outputs to those of its inputs
//   weight half  of each node: adds to Parameter::gradient
// Both halves visit the nodes in the same order, so taking them apart changes no bit.
//
// Gradients of tensors lie on the tape under numbers (slots): the node that differentiates y = f(x)
// takes the gradient of y's slot with take_gradient() and gives one to x's slot with
// give_gradient(). One use of a tape:
//   tape.set_recording(true);  x = tape.output(input, true);  y = linear(tape, x, ...);
//   tape.give_gradient(y.slot, dy);  tape.backward(Halves::Both);  dx = tape.take_gradient(x.slot);
//   tape.clear();
// Memory of a node's tensors is freed as soon as the node has run. A tape is used again for every
// micro-batch; after the first time it asks for no more memory of its own.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/bit_flip.h"
#include "kernels/device.h"
#include "kernels/tensor.h"

namespace penstock {

class Tape;

// A node whose result costs little to compute again, bit for bit: a norm (Chen et al. 2016). The
// next op, such as a linear layer, needs that result in its weight half; instead of keeping the
// tensor its node calls rely() in the forward, and recompute() in the weight half.
class Recomputable {
 public:
  Recomputable() = default;
  Recomputable(const Recomputable&) = delete;
  Recomputable& operator=(const Recomputable&) = delete;
  // The node's result, computed once more.
  [[nodiscard]] virtual Tensor recompute(Tape& tape) = 0;
  // Called by another node that will call recompute(): this node must then keep its input.
  void rely() { relied_on_ = true; }

 protected:
  ~Recomputable() = default;
  [[nodiscard]] bool relied_on() const { return relied_on_; }

 private:
  bool relied_on_ = false;
};

// A tensor as the functions see it: what goes in and comes out of them.
struct Variable {
  Tensor value;
  int slot = -1;  // >= 0: its gradient is wanted, and kept on the tape under this number
  Recomputable* source = nullptr;  // node that recomputes `value`; null: whoever needs it keeps it
  [[nodiscard]] bool tracked() const { return slot >= 0; }
  [[nodiscard]] const Shape& shape() const { return value.shape(); }
};
using Variables = boost::container::small_vector<Variable, 4>;
using Tensors = boost::container::small_vector<Tensor, 4>;
using Shapes = boost::container::small_vector<Shape, 4>;

// One recorded op: the tensors it must remember, and the two halves of its derivative. The tape
// calls either backward(), or input_gradient() and later, if has_weights(), weight_gradient(); then
// it destroys the node.
class Node {
 public:
  Node() = default;
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // The input half: takes the gradients of the outputs from the tape and gives it those of the
  // inputs. Keeps what weight_gradient() will need and frees the rest.
  virtual void input_gradient(Tape& tape) = 0;
  // Both halves at once, with the same bits as one after the other.
  virtual void backward(Tape& tape);
  // The weight half: adds to the gradients of the parameters. Called once, after input_gradient().
  virtual void weight_gradient(Tape& /*tape*/) {}
  // Whether the weight half needs this node: it has trained weights, or another node relies on it
  // (Recomputable::rely()). Otherwise it is destroyed after its input half.
  [[nodiscard]] virtual bool has_weights() const { return false; }
};

// What a tape calls while a forward or backward runs; either may be empty.
struct TapeHooks {
  // Called after every op of a forward or backward, and for every leaf, so that the pipeline can
  // move its messages on while this rank computes.
  std::function<void()> progress = {};
  // Called once the weight gradients of all ops of part `number` (begin_part()) have been added;
  // parts come from the last to the first.
  std::function<void(size_t number)> part_done = {};
};

// The halves of a backward that are to run.
enum class Halves : uint8_t { Both, Input, Weight };

class Tape {
 public:
  explicit Tape(Device& device, TapeHooks hooks = {}) : device_(device), hooks_(std::move(hooks)) {}
  ~Tape() { clear(); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  [[nodiscard]] Device& device() const { return device_; }
  // Whether functions leave nodes from now on; false at first, as evaluation needs it.
  void set_recording(bool on) { recording_ = on; }
  [[nodiscard]] bool recording() const { return recording_; }
  // Calls TapeHooks::progress.
  void progress() {
    if (hooks_.progress) hooks_.progress();
  }
  // Ops recorded from here on belong to part `number` of the computation, such as a layer; numbers
  // ascend.
  void begin_part(size_t number) { parts_.push_back({nodes_.size(), number}); }

  // ---- for functions
  // Makes a Variable of an op's result or of a leaf (an input of the whole tape). It has a slot if
  // the tape records and its gradient is `wanted`: that of an op's result is if an input of the op
  // is tracked or the op has trained weights; that of a leaf is if the caller will call
  // take_gradient() for it after the input half.
  [[nodiscard]] Variable output(Tensor value, bool wanted) {
    progress();
    after_op(device_, value);
    return {std::move(value), recording_ && wanted ? new_slot() : -1, nullptr};
  }
  // Appends a node, constructed from these arguments in the tape's own memory.
  template <class N, class... Args>
  N& add(Args&&... args) {
    void* place = arena_.take(sizeof(N), alignof(N));
    N* node = new (place) N(std::forward<Args>(args)...);
    nodes_.push_back(node);
    return *node;
  }

  // ---- for nodes, and for whoever starts and ends a backward pass
  // Adds g to the gradient of the slot. The caller may go on holding g: a tensor that somebody else
  // holds is read and not written.
  void give_gradient(int slot, Tensor g);
  // Moves the gradient of the slot out of the tape; empty where nobody gave one.
  [[nodiscard]] Tensor take_gradient(int slot);

  // ---- backward
  // Before it, give_gradient() gives the outputs' gradients (a loss gives its own). Both: runs both
  // halves, node by node. Input: runs the input halves and keeps the nodes whose has_weights() is
  // true; Weight, after Input: runs the weight halves of these and forgets all, gradients of leaves
  // included. No nodes are left after Both and after Weight.
  void backward(Halves halves);
  void clear();  // forgets all that was recorded, and all gradients
  [[nodiscard]] bool empty() const { return nodes_.empty(); }

 private:
  // Memory for nodes: taken front to back, all given back at once, never returned to the system.
  class Arena {
   public:
    void* take(size_t size_bytes, size_t alignment);
    void rewind();

   private:
    static constexpr size_t kChunkBytes = 32 << 10;
    std::vector<std::unique_ptr<std::byte[]>> chunks_;
    size_t chunk_ = 0;
    size_t used_bytes_ = 0;
  };

  int new_slot() {
    gradients_.emplace_back();
    return static_cast<int>(gradients_.size()) - 1;
  }
  void backward_both();
  void backward_input();
  void backward_weight();
  void destroy(size_t index);
  // Called when the weight halves of all nodes from `index` on are done: calls TapeHooks::part_done
  // for the parts that begin there or later.
  void complete_parts(size_t index);

  struct Part {
    size_t first_node, number;
  };

  Device& device_;
  TapeHooks hooks_;
  bool recording_ = false;
  std::vector<Part> parts_;
  Arena arena_;
  std::vector<Node*> nodes_;
  std::vector<Tensor> gradients_;  // by slot
};

}  // namespace penstock
