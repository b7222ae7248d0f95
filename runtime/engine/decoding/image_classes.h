// runtime/engine/decoding/image_classes.h -- ImageClasses: the probability of each class for each
// of some images, by a pipeline of any number of stages and replicas.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/engine/pipeline/pipeline.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/system/comm/network.h"

namespace penstock {

class ImageClasses {
 public:
  // Called on rank 0: writes the samples of image `index` to `out`, as the network reads them.
  using Read = std::function<void(int64_t index, std::span<float> out)>;
  // Called on rank 0, in the order of the images: the probability of each class.
  using Show = std::function<void(int64_t index, std::span<const float> probabilities)>;

  // `model` is the pipeline's, reads `image` [height, width, channels] in the field "images" and
  // ends in a ClassifierLoss. All must outlive this.
  ImageClasses(const Config& config, Pipeline& pipeline, const Sequential& model,
               const Shape& image, Network& network, Device& device);

  [[nodiscard]] int64_t classes() const { return classifier_->classes(); }

  // Collective; `count`, the number of images, is the same on every rank. Takes as many images at a
  // time as a pass of an evaluation. The result of an image does not depend on the others. Throws
  // Error(Input) when a logit is NaN.
  void look(int64_t count, const Read& read, const Show& show);

 private:
  void fill(std::span<const float> images, int64_t images_here);
  void run();
  // Adds the probabilities of this replica's images of a round to their places in `all`, which is
  // for the images of all replicas.
  void collect(int64_t images_here, std::span<double> all);

  Pipeline& pipeline_;
  Network& network_;
  Device& device_;
  Shape image_;
  int64_t batch_;
  int micro_batches_, replicas_;
  uint64_t seed_;
  Memory host_;
  const ClassifierLoss* classifier_;
  std::vector<Batch> batches_;
  std::vector<Tensor> logits_;  // by micro-batch, on the rank that has them
};

}  // namespace penstock
