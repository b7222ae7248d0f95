// runtime/network/layers/library/enlarge.h -- the layers that make images larger: upsampling and
// transposed convolution. Images are channels-last, as in image.h.
#pragma once

#include "runtime/network/layers/layer.h"

namespace penstock {

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

}  // namespace penstock
