// runtime/network/autograd/tape.h -- the tape: what a forward pass records so that a backward can
// run.
//
// Functions (functions.h) compute at once and, while the tape records, leave a Node each. Backward
// runs the nodes last to first, in two halves that a schedule may take apart (Qi et al. 2024):
//   input gradients   (B)  from the gradients of a node's outputs to those of its inputs
//   weight gradients  (W)  added into Parameter::gradient
// Both halves visit the nodes in the same order, so taking them apart changes no bit. Memory is
// freed node by node. A tape is used again and again; after the first time it asks for no more
// memory.
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

// A node whose result costs little to compute again, bit for bit. Another node that needs that
// result in its weight half calls rely() instead of keeping it, and recompute() when it needs it
// (Chen et al. 2016).
class Recomputable {
 public:
  Recomputable() = default;
  Recomputable(const Recomputable&) = delete;
  Recomputable& operator=(const Recomputable&) = delete;
  // The node's result, computed once more.
  [[nodiscard]] virtual Tensor recompute(Tape& tape) = 0;
  // Says that another node will call recompute().
  void rely() { relied_on_ = true; }

 protected:
  ~Recomputable() = default;
  [[nodiscard]] bool relied_on() const { return relied_on_; }

 private:
  bool relied_on_ = false;
};

// A tensor as the functions see it. slot >= 0: its gradient is wanted, and kept under that number.
struct Variable {
  Tensor value;
  int slot = -1;
  Recomputable* source = nullptr;  // node that recomputes `value`; null: keep `value`
  [[nodiscard]] bool tracked() const { return slot >= 0; }
  [[nodiscard]] const Shape& shape() const { return value.shape(); }
};
using Variables = boost::container::small_vector<Variable, 4>;
using Tensors = boost::container::small_vector<Tensor, 4>;
using Shapes = boost::container::small_vector<Shape, 4>;

// One recorded op: the tensors it must remember, and the two halves of its derivative.
class Node {
 public:
  Node() = default;
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  // Takes the outputs' gradients from the tape and gives the inputs'. Keeps what weight_gradient()
  // will need and frees the rest.
  virtual void input_gradient(Tape& tape) = 0;
  // Runs both halves at once, with the same bits as one after the other.
  virtual void backward(Tape& tape);
  // Adds into the gradients of the parameters. Called once, after input_gradient().
  virtual void weight_gradient(Tape& /*tape*/) {}
  // Whether the weight half needs this node, for weights of its own or for a node that relies on
  // it.
  [[nodiscard]] virtual bool has_weights() const { return false; }
};

// The callbacks of a tape while it runs; either may be empty.
struct TapeHooks {
  // Called after every op of a forward or backward, and for every leaf, so that messages of other
  // ranks progress.
  std::function<void()> progress = {};
  // Called once all weight gradients of part `number` (begin_part()) are added; last part first.
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
  // Whether functions leave nodes; off at first.
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
  // Makes a Variable of an op's result or of a leaf; tracked when the tape records and `wanted` is
  // set: for an op, when an input is tracked or the op has weights; for a leaf, when its gradient
  // will be taken with take_gradient() after the input half.
  [[nodiscard]] Variable output(Tensor value, bool wanted) {
    progress();
    after_op(device_, value);
    return {std::move(value), recording_ && wanted ? new_slot() : -1, nullptr};
  }
  // Constructs a node in the tape's own memory.
  template <class N, class... Args>
  N& add(Args&&... args) {
    void* place = arena_.take(sizeof(N), alignof(N));
    N* node = new (place) N(std::forward<Args>(args)...);
    nodes_.push_back(node);
    return *node;
  }

  // ---- for nodes, and for whoever starts and ends a backward pass
  // Adds g to the gradient of the slot. Others may hold g, too: nobody writes to a shared gradient.
  void give_gradient(int slot, Tensor g);
  // Moves the gradient of the slot out; empty when nobody gave one.
  [[nodiscard]] Tensor take_gradient(int slot);

  // ---- backward
  // Both: runs both halves, node by node. Input: runs the input halves and keeps the nodes with
  // weights. Weight, after Input: runs their weight halves. The tape is empty after Both and after
  // Weight.
  void backward(Halves halves);
  void clear();  // forgets everything recorded
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
  // Reports all parts whose first node is `index` or later: no weight gradient of them is missing.
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
