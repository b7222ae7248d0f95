#include "runtime/network/autograd/tape.h"

#include "kernels/ops/pointwise.h"

namespace penstock {

void Node::backward(Tape& tape) {
  input_gradient(tape);
  if (!has_weights()) return;
  tape.progress();
  weight_gradient(tape);
}

void* Tape::Arena::take(size_t size_bytes, size_t alignment) {
  size_t start = (used_bytes_ + alignment - 1) / alignment * alignment;
  if (chunks_.empty() || start + size_bytes > kChunkBytes) {
    if (!chunks_.empty()) ++chunk_;
    if (chunk_ == chunks_.size()) chunks_.push_back(std::make_unique<std::byte[]>(kChunkBytes));
    start = 0;
  }
  used_bytes_ = start + size_bytes;
  return chunks_[chunk_].get() + start;
}

void Tape::Arena::rewind() {
  chunk_ = 0;
  used_bytes_ = 0;
}

void Tape::give_gradient(int slot, Tensor g) {
  after_op(device_, g);
  Tensor& held = gradients_[static_cast<size_t>(slot)];
  if (!held) {
    held = std::move(g);
    return;
  }
  PointwiseOps& ops = device_.pointwise();
  // The sum is written to `held` or to `g`, if nobody else sees that tensor, and else to a new
  // tensor. The order does not matter: a + b has the same bits as b + a.
  if (held.unique()) {
    ops.add(held, held, g);
  } else if (g.unique()) {
    ops.add(g, held, g);
    held = std::move(g);
  } else {
    Tensor sum = device_.empty(g.shape(), g.dtype(), Purpose::Activations);
    ops.add(sum, held, g);
    held = std::move(sum);
  }
}

Tensor Tape::take_gradient(int slot) {
  return std::move(gradients_[static_cast<size_t>(slot)]);
}

void Tape::destroy(size_t index) {
  nodes_[index]->~Node();
  nodes_[index] = nullptr;
}

void Tape::complete_parts(size_t index) {
  while (!parts_.empty() && parts_.back().first_node >= index) {
    const size_t number = parts_.back().number;
    parts_.pop_back();
    if (hooks_.part_done) hooks_.part_done(number);
  }
}

void Tape::backward(Halves halves) {
  switch (halves) {
    case Halves::Both:
      return backward_both();
    case Halves::Input:
      return backward_input();
    case Halves::Weight:
      return backward_weight();
  }
}

void Tape::backward_both() {
  complete_parts(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {
    nodes_[i]->backward(*this);
    destroy(i);
    complete_parts(i);
    progress();
  }
  nodes_.clear();
  arena_.rewind();
}

void Tape::backward_input() {
  for (size_t i = nodes_.size(); i-- > 0;) {
    nodes_[i]->input_gradient(*this);
    if (!nodes_[i]->has_weights()) destroy(i);
    progress();
  }
}

void Tape::backward_weight() {
  complete_parts(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i] != nullptr) {
      nodes_[i]->weight_gradient(*this);
      destroy(i);
      progress();
    }
    complete_parts(i);
  }
  clear();
}

void Tape::clear() {
  for (Node* node : nodes_) {
    if (node != nullptr) node->~Node();
  }
  nodes_.clear();
  gradients_.clear();
  parts_.clear();
  arena_.rewind();
}

}  // namespace penstock
