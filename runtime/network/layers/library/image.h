// runtime/network/layers/library/image.h -- the layers of image networks: convolution, pooling,
// enlarging, global average and Flatten.
//
// Images are channels-last, [n, height, width, channels]; axis n is the samples of a micro-batch.
// In the shapes below oh and ow are the height and width of the output. What the overridden
// functions do is said in runtime/network/layers/layer.h. The constructors of convolutions throw
// Error(Input), naming the layer, for numbers of channels below 1 or that `groups` does not divide.
#pragma once

#include "runtime/network/layers/layer.h"

namespace penstock {

// An image's shape in messages, in the order of run files: "[3, 32, 32] (channels, height, width)"
// of [n, 32, 32, 3]. Other shapes as they are.
[[nodiscard]] std::string image_text(const Shape& shape);

// A window of kernel_h x kernel_w with "same" padding, so that output = ceil(input / stride) in
// both axes. Of an even kernel's padding the odd row or column is at the bottom or right.
[[nodiscard]] Window same_window(int kernel_h, int kernel_w, int stride);

// Normal initial values for a convolution, with a standard deviation by the fan-out (He et al.
// 2015) that keeps the size of gradients through layers with ReLUs. `weight` is the weight's shape,
// [out, in / groups, kernel height, kernel width].
[[nodiscard]] Initializer fan_out_normal(const Shape& weight, int groups = 1);

// A convolution, [n, h, w, in] -> [n, oh, ow, out]. Parameters `weight` [out, in / groups, kernel
// height, kernel width] and, unless it is switched off, `bias` [out].
class Conv2d final : public UnaryLayer {
 public:
  struct Options {
    int64_t in = 0, out = 0;  // channels
    Window window;
    int groups = 1;
    bool bias = true;
    bool relu = false;  // a ReLU of the result
  };
  Conv2d(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "conv2d"; }
  void declare(ParameterSet& set) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Options options_;
  Slot weight_, bias_;
};

// [n, h, w, c] -> [n, oh, ow, c]: the largest number of each window, or their mean.
class Pool2d final : public UnaryLayer {
 public:
  Pool2d(std::string name, const Window& window, Pool pool);
  [[nodiscard]] std::string kind() const override {
    return pool_ == Pool::Max ? "max-pool" : "average-pool";
  }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Window window_;
  Pool pool_;
};

// [n, h, w, in] -> [n, 2h, 2w, out]: a transposed convolution of 2 x 2 with stride 2 (the
// up-convolution of Ronneberger et al. 2015), which makes 2 x 2 pixels of each pixel. Parameter
// `weight` [4 out, in, 1, 1]: the `out` filters of the top left pixel, then those of the top right,
// the bottom left and the bottom right one.
class UpConvolution final : public UnaryLayer {
 public:
  UpConvolution(const std::string& name, int64_t in, int64_t out);
  [[nodiscard]] std::string kind() const override { return "up-convolution"; }
  void declare(ParameterSet& set) const override { points_.declare(set); }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  int64_t out_;
  Conv2d points_;
};

// [n, h, w, c] -> [n, scale_h h, scale_w w, c], without parameters.
class Upsample2d final : public UnaryLayer {
 public:
  Upsample2d(std::string name, const Enlarging& enlarging)
      : UnaryLayer(std::move(name)), enlarging_(enlarging) {}
  [[nodiscard]] std::string kind() const override { return "upsample"; }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Enlarging enlarging_;
};

// A transposed convolution, [n, h, w, in] -> [n, oh, ow, out], as torch's ConvTranspose2d: oh =
// (h - 1) stride - 2 padding + kernel + output_padding. Parameters `weight` [in, out / groups,
// kernel height, kernel width] and, unless it is switched off, `bias` [out].
class ConvTranspose2d final : public UnaryLayer {
 public:
  struct Options {
    int64_t in = 0, out = 0;  // channels
    Window window;            // of the convolution that it transposes; equal padding on both sides
    int output_padding_h = 0, output_padding_w = 0;  // below the stride
    int groups = 1;
    bool bias = true;
  };
  ConvTranspose2d(std::string name, const Options& options);
  [[nodiscard]] std::string kind() const override { return "conv2d-transpose"; }
  void declare(ParameterSet& set) const override;

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;

 private:
  Options options_;
  Slot weight_, bias_;
};

// [n, h, w, c] -> [n, c]: the mean over h and w.
class GlobalPool final : public UnaryLayer {
 public:
  using UnaryLayer::UnaryLayer;
  [[nodiscard]] std::string kind() const override { return "global-pool"; }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;
};

// [n, ...] -> [n, product of the other extents].
class Flatten final : public UnaryLayer {
 public:
  using UnaryLayer::UnaryLayer;
  [[nodiscard]] std::string kind() const override { return "flatten"; }

 protected:
  [[nodiscard]] Shape shape_of(const Shape& input) const override;
  Variable run(Context& context, const Variable& x) const override;
};

}  // namespace penstock
