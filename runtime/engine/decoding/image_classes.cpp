#include "runtime/engine/decoding/image_classes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "kernels/error.h"
#include "kernels/memory/host_memory.h"
#include "kernels/ops/pointwise.h"
#include "runtime/engine/training/evaluation/evaluation.h"
#include "runtime/system/comm/agreement.h"

namespace penstock {
namespace {

// Turns the logits of one image into probabilities (softmax) and adds them to `out`. The largest
// logit is subtracted first, so nothing overflows.
void add_probabilities(std::span<const float> logits, std::span<double> out) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  for (size_t c = 0; c < logits.size(); ++c) out[c] += std::exp(logits[c] - largest) / sum;
}

}  // namespace

ImageClasses::ImageClasses(const Config& config, Pipeline& pipeline, const Sequential& model,
                           const Shape& image, Network& network, Device& device)
    : pipeline_(pipeline),
      network_(network),
      device_(device),
      image_(image),
      batch_(config.run.eval_batch > 0 ? config.run.eval_batch : config.pipeline.micro_batch_size),
      micro_batches_(config.pipeline.micro_batches),
      replicas_(config.pipeline.replicas),
      seed_(config.run.seed),
      host_(host_memory_source()),
      classifier_(dynamic_cast<const ClassifierLoss*>(model.layers.back().get())),
      logits_(static_cast<size_t>(micro_batches_)) {
  if (classifier_ == nullptr) fail_internal("classes are told by a classifier, and there is none");
  Memory& memory = device.host_addressable() ? host_ : device.host_memory();
  for (int m = 0; m < micro_batches_; ++m) {
    Batch& batch = batches_.emplace_back();
    batch.names = pipeline.reads().fields;
    batch.samples = batch_;
    for (const std::string& name : batch.names) {
      const bool is_image = name == "images";
      Shape shape = {batch_};
      if (is_image) shape = {batch_, image[0], image[1], image[2]};
      const auto bytes = static_cast<size_t>(shape.elements()) * 4;  // both types take 4 bytes
      batch.tensors.emplace_back(memory.take(bytes, Purpose::Workspace), shape,
                                 is_image ? DType::F32 : DType::I32);
    }
  }
}

// Fills the batches with this replica's images of a round. Places without an image are black. All
// labels are -1, which the loss leaves out.
void ImageClasses::fill(std::span<const float> images, int64_t images_here) {
  const int64_t first = int64_t{network_.replicas().rank()} * micro_batches_ * batch_;
  const int64_t size = image_.elements();
  for (int m = 0; m < micro_batches_; ++m) {
    Batch& batch = batches_[static_cast<size_t>(m)];
    for (size_t f = 0; f < batch.names.size(); ++f) {
      if (batch.names[f] != "images") {
        std::ranges::fill(batch.tensors[f].span<int32_t>(), -1);
        continue;
      }
      const std::span<float> to = batch.tensors[f].span<float>();
      std::ranges::fill(to, 0.0F);
      const int64_t begin = first + m * batch_;
      const int64_t here = std::clamp<int64_t>(images_here - begin, 0, batch_);
      if (here == 0) continue;
      std::ranges::copy(
          images.subspan(static_cast<size_t>(begin * size), static_cast<size_t>(here * size)),
          to.begin());
    }
  }
}

void ImageClasses::run() {
  const std::function<void(int, const Tensor&)> keep = [this](int m, const Tensor& logits) {
    logits_[static_cast<size_t>(m)] = logits;
  };
  StepInput input;
  input.pass.training = false;
  input.pass.seed = seed_;
  input.pass.first_micro_batch = int64_t{network_.replicas().rank()} * micro_batches_;
  input.pass.logits = &keep;
  input.batches = batches_;
  pipeline_.run(input);
}

void ImageClasses::collect(int64_t images_here, std::span<double> all) {
  const int64_t first = int64_t{network_.replicas().rank()} * micro_batches_ * batch_;
  const auto n = static_cast<size_t>(classes());
  for (size_t m = 0; m < logits_.size(); ++m) {
    const Tensor logits = std::exchange(logits_[m], {});
    if (!logits) continue;
    Tensor wide = device_.empty(logits.shape(), DType::F32, Purpose::Workspace);
    device_.pointwise().copy(wide, logits);
    std::vector<float> values(static_cast<size_t>(wide.elements()));
    device_.copy_to_host(values.data(), wide, wide.size_bytes());
    for (int64_t i = 0; i < batch_; ++i) {
      const int64_t number = first + static_cast<int64_t>(m) * batch_ + i;
      if (number >= images_here) break;
      const auto row = std::span(values).subspan(static_cast<size_t>(i) * n, n);
      refuse_no_numbers(row);
      add_probabilities(row, all.subspan(static_cast<size_t>(number) * n, n));
    }
  }
}

void ImageClasses::look(int64_t count, const Read& read, const Show& show) {
  const int64_t at_once = batch_ * micro_batches_ * replicas_;
  const auto size = static_cast<size_t>(image_.elements());
  for (int64_t begin = 0; begin < count; begin += at_once) {
    const int64_t here = std::min(at_once, count - begin);
    // Rank 0 reads the images. If it cannot read one, every rank throws.
    const std::string bytes = on_first_rank(network_.world(), [&] {
      std::string all(static_cast<size_t>(here) * size * sizeof(float), '\0');
      std::vector<float> image(size);
      for (int64_t i = 0; i < here; ++i) {
        read(begin + i, image);
        std::memcpy(all.data() + static_cast<size_t>(i) * size * sizeof(float), image.data(),
                    size * sizeof(float));
      }
      return all;
    });
    std::vector<float> images(bytes.size() / sizeof(float));
    std::memcpy(images.data(), bytes.data(), bytes.size());
    fill(images, here);
    run();
    // Each number is zero on all ranks but one, so the sum is exact.
    std::vector<double> all(static_cast<size_t>(here * classes()));
    collect(here, all);
    network_.world().sum(all);
    if (network_.world().rank() != 0) continue;
    const std::vector<float> shown(all.begin(), all.end());
    for (int64_t i = 0; i < here; ++i) {
      const auto n = static_cast<size_t>(classes());
      show(begin + i, std::span(shown).subspan(static_cast<size_t>(i) * n, n));
    }
  }
}

}  // namespace penstock
