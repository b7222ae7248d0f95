// runtime/engine/pipeline/links/channel.h -- Channel: carries the tensors between two stages in one
// direction, activations forward or their gradients back, as one rank sees it.
//
// The executor moves tensors through it, one micro-batch at a time:
//   both stages on this rank:   put() by one, take() by the other
//   only the sender here:       put(), send()      -> a message to the other rank
//   only the receiver here:     receive(), take()  <- a message from the other rank
// Between these calls the channel holds the tensors. The rank's program says which micro-batches
// pass, and in which order.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/network/layers/layer.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class Channel {
 public:
  // The tensors of one message. Tensor i is number given[i] of what the giving stage gives
  // (outputs, or gradients of its inputs), and number taken[i] of what the taking stage takes.
  struct Message {
    std::vector<TensorSpec> tensors;
    std::vector<size_t> given, taken;
  };
  // A message of one number, without meaning. It is sent back in place of gradients to stages that
  // train nothing, so that they do not run ahead without limit.
  [[nodiscard]] static Message token();
  // `micro_batches`: those of one run. `out` is null where the taking stage is on this rank, `in`
  // is null where the giving stage is; the links must outlive the channel.
  Channel(Message message, int micro_batches, SendLink* out, ReceiveLink* in);

  // ---- for the stages of this rank
  // Takes this channel's tensors out of `given`, all that a stage gives for one micro-batch.
  void put(int micro_batch, Tensors& given);
  // Moves this channel's tensors to their places in `taken`, all that a stage takes, which has room
  // for them. Throws Error(Internal) when they are not there.
  void take(int micro_batch, Tensors& taken);

  // ---- for messages
  // Begins a run, in which `messages` messages will be received. The receive of the first is posted
  // at once, that of each further one when the one before has come, so that messages arrive during
  // computation.
  void begin(int messages);
  // Begins the run again with nothing held. `surplus` messages of the first try, under way or still
  // to be sent, are received and thrown away: blocks until they have come.
  void begin_again(int surplus, int messages);
  // Sends what put() has brought, and returns at once. A tensor that the stage did not give is sent
  // as zeros.
  void send(int micro_batch, Device& device);
  // Waits for the next message and holds it for take(). Messages come in the order of the sender.
  void receive(int micro_batch);
  // Takes memory for `most` messages under way at once; does nothing where this rank does not send.
  void reserve(int most);
  // Whether take() is on another rank, so that messages are sent.
  [[nodiscard]] bool sends() const { return out_ != nullptr; }

 private:
  void announce();

  Message message_;
  SendLink* out_;
  ReceiveLink* in_;
  int left_ = 0;               // messages of this run whose receive is not posted yet
  std::vector<Tensors> held_;  // by micro-batch
};

}  // namespace penstock
