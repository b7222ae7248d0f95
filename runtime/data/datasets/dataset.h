// runtime/data/datasets/dataset.h -- Dataset: numbered samples, each a tuple of named fields.
// Batch: some of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/philox.h"
#include "kernels/tensor.h"
#include "runtime/data/config.h"

namespace penstock {

struct Field {
  std::string name;  // "tokens", "images", "labels", ...
  Shape shape;       // of one sample; images are [height, width, channels]
  DType dtype = DType::F32;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual int64_t size() const = 0;  // samples, >= 1
  [[nodiscard]] virtual const std::vector<Field>& fields() const = 0;
  // Targets that the loss of one sample averages over (context length for text, 1 for images).
  [[nodiscard]] virtual int64_t targets_per_sample() const = 0;
  // Writes the fields of sample `index` to out[f] (null: not wanted), each dense. `random` drives
  // the augmentation (training sets only). Called from several threads. Throws Error(Data) naming
  // the file when the sample cannot be read.
  virtual void read(int64_t index, const RandomStream& random,
                    std::span<void* const> out) const = 0;
};

struct Questions;  // tuning/questions.h

// What a model must know of its data, and the sets themselves. `validation` may be null.
struct Datasets {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;
  int64_t vocabulary = 0;           // text: 256, or word pieces; tokens: 0 where unknown
  int64_t classes = 0;              // images
  std::vector<std::string> labels;  // class names, images
  int64_t content = 0;              // text: content_sum() of what trains; else 0
  std::string note;                 // what a user may want to know of them; empty: nothing
  std::shared_ptr<const Questions> questions;  // whose texts are `validation`; null: no questions
};

// What the datasets must produce, from the [model] section.
struct SampleShape {
  int64_t context = 0;  // text, tokens, parallel: sequence length
  Shape image;          // images: [height, width, channels]
  Shape input;  // synthetic: field "inputs"/"images"/"tokens" of one sample, see synthetic.h
  int64_t classes = 0;              // synthetic: labels are 0 .. classes-1
  std::string input_field;          // synthetic: name of the input field
  std::string label_field;          // synthetic: name of the label field
  bool label_per_position = false;  // synthetic: labels [context] instead of one
  bool parallel = false;            // synthetic: sentence pairs, as in parallel.h
};

// Takes a line about something wrong that does not stop the run; called from any thread.
using Warn = std::function<void(const std::string& line)>;

// `warn` (may be empty) is kept by the sets. `fields`: those that will be read, empty for all; of
// images, labels alone take no more memory than four bytes each. Throws Error(Input): a missing,
// empty or unfit file; Error(Data): a damaged one, naming the file and where in it; each with what
// to do about it.
[[nodiscard]] Datasets open_datasets(const DataConfig& config, const SampleShape& shape,
                                     uint64_t seed, const Warn& warn = {},
                                     const std::vector<std::string>& fields = {});

// One micro-batch in host memory: tensors [samples, field shape...].
struct Batch {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;  // one per name
  int64_t samples = 0;  // real ones; the rest up to the tensors' extent is padding (label -1)
  [[nodiscard]] const Tensor& field(const std::string& name) const;  // Error(Internal) if absent
};

}  // namespace penstock
