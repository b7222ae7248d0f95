#include "runtime/planning/costs/probe_data.h"

#include <span>

#include "kernels/ops/pointwise.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

constexpr uint64_t kPatternSeed = 1;

// Returns lengths of samples, all of them full: padding is not a part of a layer's cost.
Tensor lengths(int64_t batch, int64_t longest, Device& device) {
  Tensor filled = device.empty({batch}, DType::I32, Purpose::Workspace);
  if (!device.holds_values()) return filled;
  const std::vector<int32_t> all(static_cast<size_t>(batch), static_cast<int32_t>(longest));
  device.copy_from_host(filled, all.data(), all.size() * sizeof(int32_t));
  return filled;
}

struct FieldForm {
  Shape shape;
  DType dtype;
  bool counts = false;  // whether it holds the lengths of samples
};

FieldForm field_form(const std::string& name, const ProbeSetup& setup) {
  const ModelInput& input = setup.input;
  if (name == input.field) return {with_batch(setup.micro_batches.size, input.shape), input.dtype};
  if (name.ends_with("_lengths")) return {{setup.micro_batches.size}, DType::I32, true};
  return {with_batch(setup.micro_batches.size, label_shape(input)), DType::I32};
}

}  // namespace

Shape with_batch(int64_t batch, const Shape& sample) {
  std::vector<int64_t> extents = {batch};
  extents.insert(extents.end(), sample.extents().begin(), sample.extents().end());
  return Shape(std::span<const int64_t>(extents));
}

Tensor probe_pattern(const Shape& shape, DType dtype, Device& device) {
  if (dtype == DType::I32) return device.zeros(shape, dtype, Purpose::Workspace);
  Tensor filled = device.empty(shape, dtype, Purpose::Workspace);
  if (!device.holds_values()) return filled;
  std::vector<float> numbers(static_cast<size_t>(shape.elements()));
  const RandomStream stream = random_stream(kPatternSeed, hash_name("probe"));
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = uniform_of(philox(stream, i / 4)[i % 4]) - 0.5F;
  }
  Tensor wide = device.empty(shape, DType::F32, Purpose::Workspace);
  device.copy_from_host(wide, numbers.data(), numbers.size() * sizeof(float));
  device.pointwise().copy(filled, wide);
  return filled;
}

Tensor probe_field(const std::string& name, const ProbeSetup& setup, Device& device) {
  const FieldForm form = field_form(name, setup);
  if (form.counts) return lengths(setup.micro_batches.size, setup.input.shape[0], device);
  return probe_pattern(form.shape, form.dtype, device);
}

std::vector<DataField> fields_of(const Layer& layer, bool first, const ProbeSetup& setup) {
  std::vector<std::string> names = layer.reads();
  if (first) names.push_back(setup.input.field);
  std::vector<DataField> fields;
  for (const std::string& name : names) {
    const FieldForm form = field_form(name, setup);
    const int64_t bytes = form.shape.elements() * static_cast<int64_t>(size_of(form.dtype));
    fields.push_back({name, whole_lines(bytes)});
  }
  return fields;
}

}  // namespace penstock
