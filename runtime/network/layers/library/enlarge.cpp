#include "runtime/network/layers/library/enlarge.h"

#include "runtime/network/layers/library/image.h"

namespace penstock {

Shape Upsample2d::shape_of(const Shape& input) const {
  try {
    return enlarged_shape(input, enlarging_);
  } catch (const Error& error) {
    misfit(error.what());
  }
}

Variable Upsample2d::run(Context& context, const Variable& x) const {
  return upsample2d(context.tape, x, enlarging_);
}

ConvTranspose2d::ConvTranspose2d(std::string name, const Options& options)
    : UnaryLayer(std::move(name)), options_(options) {
  const Window& window = options_.window;
  if (options_.in < 1 || options_.out < 1) misfit("its channels must be at least 1");
  if (options_.groups < 1 || options_.in % options_.groups != 0 ||
      options_.out % options_.groups != 0) {
    misfit(std::to_string(options_.groups) + " groups do not divide " +
           std::to_string(options_.in) + " input and " + std::to_string(options_.out) +
           " output channels");
  }
  if (options_.output_padding_h >= window.stride_h ||
      options_.output_padding_w >= window.stride_w) {
    misfit("its output padding must be below its stride");
  }
}

void ConvTranspose2d::declare(ParameterSet& set) const {
  const Window& window = options_.window;
  const int64_t out = options_.out;
  const Shape shape = {options_.in, out / options_.groups, window.kernel_h, window.kernel_w};
  // Each pixel of x reaches a kernel of outputs, whose gradients it sums: that is the fan-out.
  set.add(weight_, name() + ".weight", shape,
          fan_out_normal({out, options_.in, window.kernel_h, window.kernel_w}, options_.groups));
  if (options_.bias) set.add(bias_, name() + ".bias", {out}, {}, ParameterKind::Bias);
}

Shape ConvTranspose2d::shape_of(const Shape& input) const {
  const Window& w = options_.window;
  if (input.rank() != 4 || input[3] != options_.in) {
    misfit("expects images of " + std::to_string(options_.in) + " channels but is given " +
           image_text(input));
  }
  const int64_t height = (input[1] - 1) * w.stride_h - w.pad_top - w.pad_bottom + w.kernel_h +
                         options_.output_padding_h;
  const int64_t width = (input[2] - 1) * w.stride_w - w.pad_left - w.pad_right + w.kernel_w +
                        options_.output_padding_w;
  if (height < 1 || width < 1) misfit("its padding leaves nothing of " + image_text(input));
  const Shape result = {input[0], height, width, options_.out};
  try {
    (void)window_output(result, w, options_.in);
  } catch (const Error& error) {
    misfit(error.what());
  }
  return result;
}

Variable ConvTranspose2d::run(Context& context, const Variable& x) const {
  return conv2d_transpose(context.tape, x, context.parameter(weight_), context.parameter_if(bias_),
                          options_.window, options_.groups, shape_of(x.shape()));
}

}  // namespace penstock
