#include "runtime/engine/pipeline/links/channel.h"

#include <utility>

namespace penstock {

Channel::Channel(Message message, int micro_batches, SendLink* out, ReceiveLink* in)
    : message_(std::move(message)), out_(out), in_(in), held_(static_cast<size_t>(micro_batches)) {}

Channel::Message Channel::token() {
  return {.tensors = {{Shape{1}, DType::I32}}, .given = {}, .taken = {}};
}

void Channel::put(int micro_batch, Tensors& given) {
  Tensors& held = held_[static_cast<size_t>(micro_batch)];
  held.clear();
  for (const size_t place : message_.given) held.push_back(std::move(given[place]));
}

void Channel::take(int micro_batch, Tensors& taken) {
  Tensors& held = held_[static_cast<size_t>(micro_batch)];
  if (held.size() < message_.taken.size()) {
    fail_internal("micro-batch " + std::to_string(micro_batch) + " is taken before it is there");
  }
  for (size_t i = 0; i < message_.taken.size(); ++i) taken[message_.taken[i]] = std::move(held[i]);
  held.clear();
}

void Channel::begin(int messages) {
  left_ = messages;
  announce();
}

void Channel::begin_again(int surplus, int messages) {
  for (Tensors& held : held_) held.clear();
  if (in_ == nullptr) return;
  left_ = surplus + messages - in_->expected();
  if (in_->expected() == 0) announce();
  for (int i = 0; i < surplus; ++i) receive(0);
  held_[0].clear();
}

void Channel::announce() {
  if (left_ == 0) return;
  in_->expect(message_.tensors);
  --left_;
}

void Channel::send(int micro_batch, Device& device) {
  Tensors& held = held_[static_cast<size_t>(micro_batch)];
  held.resize(message_.tensors.size());
  for (size_t i = 0; i < held.size(); ++i) {
    const TensorSpec& spec = message_.tensors[i];
    if (!held[i]) held[i] = device.zeros(spec.shape, spec.dtype, Purpose::Activations);
  }
  out_->send({held.data(), held.size()});
  held.clear();
}

void Channel::receive(int micro_batch) {
  Tensors& held = held_[static_cast<size_t>(micro_batch)];
  held.resize(message_.tensors.size());
  in_->receive({held.data(), held.size()});
  announce();
}

void Channel::reserve(int most) {
  if (out_ != nullptr) out_->reserve(message_.tensors, most);
}

}  // namespace penstock
