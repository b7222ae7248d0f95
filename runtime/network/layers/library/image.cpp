#include "runtime/network/layers/library/image.h"

#include <array>
#include <cmath>

namespace penstock {

std::string image_text(const Shape& shape) {
  if (shape.rank() != 4) return shape.text();
  return Shape{shape[3], shape[1], shape[2]}.text() + " (channels, height, width)";
}

Window same_window(int kernel_h, int kernel_w, int stride) {
  const int h = (kernel_h - 1) / 2;
  const int w = (kernel_w - 1) / 2;
  return {.kernel_h = kernel_h,
          .kernel_w = kernel_w,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = h,
          .pad_bottom = kernel_h - 1 - h,
          .pad_left = w,
          .pad_right = kernel_w - 1 - w};
}

Initializer fan_out_normal(const Shape& weight, int groups) {
  const auto out = static_cast<double>(weight[0] * weight[2] * weight[3]);
  return {Initializer::Kind::Normal, static_cast<float>(std::sqrt(2.0 * groups / out))};
}

Conv2d::Conv2d(std::string name, const Options& options)
    : UnaryLayer(std::move(name)), options_(options) {
  if (options_.in < 1 || options_.out < 1) misfit("its channels must be at least 1");
  if (options_.groups < 1 || options_.in % options_.groups != 0 ||
      options_.out % options_.groups != 0) {
    misfit(std::to_string(options_.groups) + " groups do not divide " +
           std::to_string(options_.in) + " input and " + std::to_string(options_.out) +
           " output channels");
  }
}

void Conv2d::declare(ParameterSet& set) const {
  const Window& window = options_.window;
  const Shape shape = {options_.out, options_.in / options_.groups, window.kernel_h,
                       window.kernel_w};
  set.add(weight_, name() + ".weight", shape, fan_out_normal(shape, options_.groups));
  if (options_.bias) set.add(bias_, name() + ".bias", {options_.out}, {}, ParameterKind::Bias);
}

Shape Conv2d::shape_of(const Shape& input) const {
  if (input.rank() != 4 || input[3] != options_.in) {
    misfit("expects images of " + std::to_string(options_.in) + " channels but is given " +
           image_text(input));
  }
  try {
    return window_output(input, options_.window, options_.out);
  } catch (const Error& error) {
    misfit(error.what());
  }
}

Variable Conv2d::run(Context& context, const Variable& x) const {
  return conv2d(context.tape, x, context.parameter(weight_), context.parameter_if(bias_),
                options_.window, options_.groups, options_.relu ? Fused::Relu : Fused::None);
}

Pool2d::Pool2d(std::string name, const Window& window, Pool pool)
    : UnaryLayer(std::move(name)), window_(window), pool_(pool) {}

Shape Pool2d::shape_of(const Shape& input) const {
  if (input.rank() != 4) {
    misfit("expects images but is given " + input.text());
  }
  try {
    return window_output(input, window_, input[3]);
  } catch (const Error& error) {
    misfit(error.what());
  }
}

Variable Pool2d::run(Context& context, const Variable& x) const {
  return pool2d(context.tape, x, window_, pool_);
}

UpConvolution::UpConvolution(const std::string& name, int64_t in, int64_t out)
    : UnaryLayer(name),
      out_(out),
      points_(name,
              {.in = in, .out = 4 * out, .window = {}, .groups = 1, .bias = false, .relu = false}) {
}

Shape UpConvolution::shape_of(const Shape& input) const {
  const Shape points = points_.infer({input})[0];
  return {points[0], 2 * points[1], 2 * points[2], out_};
}

Variable UpConvolution::run(Context& context, const Variable& x) const {
  Tape& tape = context.tape;
  const Shape& in = x.shape();
  const Variable points = points_.forward(context, {x})[0];
  constexpr std::array<int, 6> kRowsTogether = {0, 1, 3, 2, 4, 5};
  const Variable apart = reshape(tape, points, {in[0], in[1], in[2], 2, 2, out_});
  return reshape(tape, transpose(tape, apart, kRowsTogether), shape_of(in));
}

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

Shape GlobalPool::shape_of(const Shape& input) const {
  if (input.rank() != 4) {
    misfit("expects images but is given " + input.text());
  }
  return {input[0], input[3]};
}

Variable GlobalPool::run(Context& context, const Variable& x) const {
  return global_average(context.tape, x);
}

Shape Flatten::shape_of(const Shape& input) const {
  if (input.rank() < 2) misfit("expects [batch, ...] but is given " + input.text());
  int64_t rest = 1;
  for (int axis = 1; axis < input.rank(); ++axis) rest *= input[axis];
  return {input[0], rest};
}

Variable Flatten::run(Context& context, const Variable& x) const {
  return reshape(context.tape, x, shape_of(x.shape()));
}

}  // namespace penstock
