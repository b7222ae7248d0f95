// runtime/engine/pipeline/links/channel.h -- Channel: one direction of an edge between two stages,
// activations forward or gradients back, as one rank has it.
//
// A channel holds the tensors of each micro-batch between the stage that gives them and the stage
// that takes them. Both stages may be on this rank; else one end is a link to another rank, and a
// message is sent or received in between. The program says which micro-batches pass, in which
// order.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/network/layers/layer.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class Channel {
 public:
  // The tensors of a message, and for each its index among what the one stage gives and its index
  // among what the other takes.
  struct Message {
    std::vector<TensorSpec> tensors;
    std::vector<size_t> given, taken;
  };
  // A message of one number, without meaning. Frozen stages get it in place of gradients, so that
  // they do not run ahead without limit.
  [[nodiscard]] static Message token();
  // A link is null where that end is a stage of this rank; the links must outlive the channel.
  Channel(Message message, int micro_batches, SendLink* out, ReceiveLink* in);

  // ---- for the stages of this rank
  // Moves the channel's tensors out of what a stage gives.
  void put(int micro_batch, Tensors& given);
  // Moves the channel's tensors to their places in `taken`, which has room for them.
  void take(int micro_batch, Tensors& taken);

  // ---- for messages
  // Begins a run that receives `messages` messages. The first is announced at once, each further
  // one as soon as the one before has come, so that it arrives during computation.
  void begin(int messages);
  // Begins the run again. The `surplus` messages that it does not want, which are under way or will
  // be, are waited for and thrown away.
  void begin_again(int surplus, int messages);
  // Posts the message and returns. A tensor that nobody gave is sent as zeros.
  void send(int micro_batch, Device& device);
  void receive(int micro_batch);  // waits for it
  // Keeps memory ready for `most` messages under way at once; does nothing where none is sent here.
  void reserve(int most);
  [[nodiscard]] bool sends() const { return out_ != nullptr; }

 private:
  void announce();

  Message message_;
  SendLink* out_;
  ReceiveLink* in_;
  int left_ = 0;               // messages of this run that are not yet announced
  std::vector<Tensors> held_;  // by micro-batch
};

}  // namespace penstock
