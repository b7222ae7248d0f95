// runtime/engine/decoding/image_classes.h -- ImageClasses: runs a trained image classifier on
// images and gives the probability of each class.
//
// `penstock predict` uses it. The network may be cut into a pipeline of any number of stages, and
// replicas of the pipeline share the images out. Rank 0 reads the images and gets the results.
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
  // Called on rank 0: fills `out` with the numbers of image number `index` (from 0), as the network
  // reads them: height x width x channels, fp32, channels last.
  using Read = std::function<void(int64_t index, std::span<float> out)>;
  // Called on rank 0, image by image in ascending order: the probability of each class, by label.
  using Show = std::function<void(int64_t index, std::span<const float> probabilities)>;

  // `model` is the network that `pipeline` runs; it must read the batch field "images" and end in a
  // ClassifierLoss. `image` is the shape of one image, [height, width, channels]. All arguments
  // must outlive this.
  ImageClasses(const Config& config, Pipeline& pipeline, const Sequential& model,
               const Shape& image, Network& network, Device& device);

  // The number of classes.
  [[nodiscard]] int64_t classes() const { return classifier_->classes(); }

  // Classifies images 0 .. count - 1. Collective over all ranks; `count` is the same on every rank,
  // `read` and `show` are called on rank 0 alone. Each pass through the pipeline takes M evaluation
  // micro-batches of images on each replica. The result of an image does not depend on the others.
  // Throws Error(Input) when a logit is NaN or plus infinity, and on every rank what `read` throws.
  void look(int64_t count, const Read& read, const Show& show);

 private:
  // Copies this replica's images to batches_. `images`: those of all replicas in this pass, one
  // after another; `images_here`: how many they are.
  void fill(std::span<const float> images, int64_t images_here);
  // Runs one pass through the pipeline and keeps the logits.
  void run();
  // Writes the probabilities of this replica's images to their places in `all`, [image, class] for
  // the images of all replicas in this pass. All other elements stay 0, so that a sum over ranks
  // gives the whole.
  void collect(int64_t images_here, std::span<double> all);

  Pipeline& pipeline_;
  Network& network_;
  Device& device_;
  Shape image_;
  int64_t batch_;  // images of a micro-batch
  int micro_batches_, replicas_;
  uint64_t seed_;
  Memory host_;                       // holds the batches where the device reads host memory
  const ClassifierLoss* classifier_;  // the last layer of the network
  std::vector<Batch> batches_;
  std::vector<Tensor> logits_;  // by micro-batch, on the rank that has them
};

}  // namespace penstock
