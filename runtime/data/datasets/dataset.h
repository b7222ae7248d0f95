// runtime/data/datasets/dataset.h -- Dataset: numbered samples, each a tuple of named fields;
// open_datasets(), which opens the sets that the [data] section names; Batch: the samples of a
// micro-batch.
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
  [[nodiscard]] virtual int64_t size() const = 0;                      // samples
  [[nodiscard]] virtual const std::vector<Field>& fields() const = 0;  // as read() has them
  // Targets that the loss of one sample averages over (context length for text, 1 for images).
  [[nodiscard]] virtual int64_t targets_per_sample() const = 0;
  // Writes field f of sample `index` to out[f] (null: not wanted), row-major without gaps. `random`
  // drives the augmentation (training sets only). Called from several threads. Throws Error(Data)
  // naming the file when the sample cannot be read.
  virtual void read(int64_t index, const RandomStream& random,
                    std::span<void* const> out) const = 0;
};

struct Questions;  // tuning/questions.h

// The training and validation sets, and what a model must know of them.
struct Datasets {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  // null: none
  int64_t vocabulary = 0;                     // of tokens; 0: images, or not known
  int64_t classes = 0;                        // 0: labels are not class numbers
  std::vector<std::string> labels;            // names of classes, by label; empty: not known
  int64_t content = 0;  // a hash of the training tokens (content_sum()); 0: not computed
  std::string note;     // what a user may want to know of the sets; empty: nothing
  // What `penstock eval` asks; the samples of `validation` are its texts. Null: no questions.
  std::shared_ptr<const Questions> questions;
};

// What the datasets must produce, from the [model] section.
struct SampleShape {
  int64_t context = 0;              // text, tokens, parallel: sequence length
  Shape image;                      // images: [height, width, channels]
  Shape input;                      // synthetic: shape of the input field of one sample
  int64_t classes = 0;              // synthetic: labels are 0 .. classes-1
  std::string input_field;          // synthetic: name of the input field
  std::string label_field;          // synthetic: name of the label field
  bool label_per_position = false;  // synthetic: labels [context] instead of one
  bool parallel = false;            // synthetic: sentence pairs, fields as of kind "parallel"
};

// Takes a line about something wrong that does not stop the run; called from any thread.
using Warn = std::function<void(const std::string& line)>;

// Opens what `config` names. The sets keep `warn` (may be empty). `fields`: names of the fields
// that will be read, empty: all; if only labels are read, an image costs four bytes of memory.
// Throws Error(Input) for a missing, empty or unfit file, Error(Data) naming file and place for a
// damaged one, each with what to do about it.
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
