// runtime/network/autograd/tape.h -- the tape: what a forward pass leaves behind so that backward
// can run.
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

// A node whose result costs little to compute again, bit for bit: another node that needs it in its
// weight half can rely on this one instead of keeping it (Chen et al. 2016).
class Recomputable {
 public:
  Recomputable() = default;
  Recomputable(const Recomputable&) = delete;
  Recomputable& operator=(const Recomputable&) = delete;
  [[nodiscard]] virtual Tensor recompute(Tape& tape) = 0;
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
  Recomputable* source = nullptr;  // on the same tape; null: keep the value
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
  // Both halves at once; the same bits, whichever comes first.
  virtual void backward(Tape& tape);
  // Adds into the gradients of the parameters. Called once, after input_gradient().
  virtual void weight_gradient(Tape& /*tape*/) {}
  // Whether the weight half needs this node, for weights of its own or for a node that relies on
  // it.
  [[nodiscard]] virtual bool has_weights() const { return false; }
};

// The callbacks of a tape while it runs; either may be empty.
struct TapeHooks {
  // Called after every op, forward or half of a backward, and for every leaf: messages of other
  // ranks progress here.
  std::function<void()> progress = {};
  // Called in the pass that adds weight gradients, once all of a part (begin_part()) are there,
  // last part first.
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
  void set_recording(bool on) { recording_ = on; }
  [[nodiscard]] bool recording() const { return recording_; }
  void progress() {
    if (hooks_.progress) hooks_.progress();
  }
  // Ops recorded from here on belong to part `number` of the computation, a layer say; numbers
  // ascend.
  void begin_part(size_t number) { parts_.push_back({nodes_.size(), number}); }

  // ---- for functions
  // The result of an op; tracked when the tape records and `wanted` (an input is tracked, or the op
  // has weights). A leaf, too: one that is wanted is asked for its gradient, with take_gradient(),
  // after the input half.
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
  // Adds g to what the slot holds. g may be shared: nobody writes to a shared gradient.
  void give_gradient(int slot, Tensor g);
  // Moves the sum out; an empty Tensor when nothing flowed there.
  [[nodiscard]] Tensor take_gradient(int slot);

  // ---- backward
  // Runs both halves, node by node; or the input half, after which nodes with weights stay; or then
  // the weight half of those. The tape is empty after Both and after Weight.
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
