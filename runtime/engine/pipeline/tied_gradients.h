// runtime/engine/pipeline/tied_gradients.h -- TiedGradients: sums the gradients of a tied
// parameter, one that several layers hold (say, the embedding and the classifier of a language
// model), when these layers may be on different ranks.
//
// Every layer that holds the parameter has a gradient of its own for it, and every stage with such
// a layer a copy of the weights. Once a step, before the update, the ranks that hold the parameter
// send one another these gradients, and each rank adds all of them up in the order of layers. So
// every rank has the same sum to the last bit and makes the same update, and the copies stay equal;
// and the result does not depend on which layers share a stage.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/network/stage/stage.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class TiedGradients {
 public:
  // Collective over the pipeline. `layout` lists the tied parameters of the whole network and the
  // layers that hold each. `rank_of_stage`: by stage, the position in the pipeline of its rank.
  // `stages`: by stage, null on other ranks; they, the network and the device must outlive this.
  // Throws Error(Resource) on every rank where one parameter is held by a CPU and a GPU: their
  // updates differ in the last bits, so the copies would drift apart.
  TiedGradients(const Layout& layout, const std::vector<int>& rank_of_stage,
                const std::vector<Stage*>& stages, Network& network, Device& device);

  // Replaces the gradients of all holders by their sum. Called once a step, when all gradients are
  // complete, sums over replicas included. Waits for messages. Where replicas share the updates out
  // (as in ZeRO-1: each updates a part of the weights), only the elements that this rank updates
  // are sums; all others are unspecified.
  void add_up();

 private:
  // A layer that holds the parameter.
  struct Holder {
    int rank = 0;       // its position in the pipeline
    int64_t first = 0;  // the first element that is summed on this replica
    Shape shape;  // of these elements: the parameter's, or 1-d where replicas share the updates
    Parameter* here = nullptr;  // null: on another rank
    Tensor gradient;            // this layer's gradient, during add_up()
  };
  using Tie = std::vector<Holder>;  // all holders of one parameter, in layer order
  // The gradients that one rank sends to another, of all parameters that both hold, as one message.
  struct Route {
    int from = 0, to = 0;          // positions in the pipeline
    std::vector<Holder*> holders;  // those at `from`
    std::vector<TensorSpec> specs;
  };

  void find_holders(const Layout& layout, const std::vector<int>& rank_of_stage,
                    const std::vector<Stage*>& stages);
  void refuse_mixture(const Layout& layout, Network& network) const;
  void find_routes();
  // Sends and receives the gradients of all routes.
  void exchange();
  // Writes the sum over the holders of a tie to those on this rank.
  void fold(Tie& tie);

  Device& device_;
  std::vector<Tie> ties_;
  std::vector<Route> routes_;
  Network::Ends ends_;  // by route
};

}  // namespace penstock
