// runtime/engine/pipeline/tied_gradients.h -- TiedGradients: adds up, once a step, the gradients of
// a parameter that several layers hold (Parameter::tied), on one stage or several.
//
// Every such layer has a gradient of its own. Ranks that hold the parameter send one another these
// gradients, and each adds all of them up in layer order: the bits do not depend on which layers
// share a stage. Every rank then makes the same update, from equal sums, weights and states.
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
  // Collective over the pipeline. `stages`: by stage, null on other ranks; they, the network and
  // the device must outlive this object. Throws on every rank where one parameter is held by a CPU
  // and a GPU: their updates differ in the last bits, and nothing would make the weights equal
  // again.
  TiedGradients(const Layout& layout, const std::vector<int>& rank_of_stage,
                const std::vector<Stage*>& stages, Network& network, Device& device);

  // Makes the gradients in the tables of the stages the sums over all holders. To be called once
  // all gradients of the step are there, replicas' sums included. Waits for messages. Where
  // replicas share the updates out, only the elements that this rank updates become sums; the
  // others are unspecified.
  void add_up();

 private:
  struct Holder {
    int rank = 0;
    int64_t first = 0;          // the first element that is added up here
    Shape shape;                // of those elements: the parameter's, or 1-d where replicas share
    Parameter* here = nullptr;  // null on other ranks
    Tensor gradient;            // during add_up()
  };
  using Tie = std::vector<Holder>;  // in layer order
  // The gradients that one rank holds of the ties that another takes part in, as one message.
  struct Route {
    int from = 0, to = 0;          // ranks of the pipeline
    std::vector<Holder*> holders;  // at `from`
    std::vector<TensorSpec> specs;
  };

  void find_holders(const Layout& layout, const std::vector<int>& rank_of_stage,
                    const std::vector<Stage*>& stages);
  void refuse_mixture(const Layout& layout, Network& network) const;
  void find_routes();
  void exchange();
  void fold(Tie& tie);

  Device& device_;
  std::vector<Tie> ties_;
  std::vector<Route> routes_;
  Network::Ends ends_;  // by route
};

}  // namespace penstock
