// runtime/data/datasets/dataset.h -- Dataset: a set of numbered samples that training or evaluation
// reads, each a tuple of named fields such as "tokens" and "labels"; and open_datasets(), which
// opens the training and validation sets that the [data] section of a run file names.
//
// A Dataset reads single samples, in any order and from several threads. Which samples a step
// needs, and reading them ahead, is for the Loader (loader.h), which fills a Batch for each
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

// A field of every sample of a set.
struct Field {
  std::string name;  // "tokens", "images", "labels", ...
  Shape shape;       // of one sample, without the batch axis; images are [height, width, channels]
  DType dtype = DType::F32;
};

class Dataset {
 public:
  virtual ~Dataset() = default;
  [[nodiscard]] virtual int64_t size() const = 0;  // number of samples
  [[nodiscard]] virtual const std::vector<Field>& fields() const = 0;
  // How many numbers of a sample the loss compares with, at most: the context length for text, 1
  // for images, height x width for masks.
  [[nodiscard]] virtual int64_t targets_per_sample() const = 0;
  // Reads sample `index`, from 0: writes fields()[f] to the memory at out[f] (null: the caller does
  // not want this field), row-major without gaps. `random` decides what is random in a training
  // sample, such as an image's crop. Called from several threads. Throws Error(Data) naming the
  // file when the sample cannot be read.
  virtual void read(int64_t index, const RandomStream& random,
                    std::span<void* const> out) const = 0;
};

struct Questions;  // tuning/questions.h

// The training and validation sets, and what a network and the user must know of them.
struct Datasets {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;  // null: none
  int64_t vocabulary = 0;  // token ids are below this; 0: there are no tokens, or it is not known
  int64_t classes = 0;     // number of classes; 0: labels are not class numbers
  std::vector<std::string> labels;  // names of the classes, by label; empty: not known
  // A hash of the training tokens (content_sum()), so that a resumed run notices another text; 0:
  // not computed.
  int64_t content = 0;
  std::string note;  // lines that tell the user about the sets when a run starts; empty: nothing
  // The questions that `penstock eval` asks (tuning/questions.h), whose texts are the samples of
  // `validation`; null: there are none, and `validation` is evaluated by its loss.
  std::shared_ptr<const Questions> questions;
};

// What the network, as the [model] section describes it, needs of each sample. A kind in front of a
// colon is a data.kind.
struct SampleShape {
  int64_t context = 0;  // text, tokens, jsonl, parallel: tokens of a row
  Shape image;          // images, masks: [height, width, channels]
  Shape input;          // synthetic: shape of the input field of one sample
  // synthetic, masks: labels are 0 .. classes-1; text, tokens: ids likewise; 0: as the data say
  int64_t classes = 0;
  std::string input_field;          // synthetic: name of the input field
  std::string label_field;          // synthetic: name of the label field
  bool label_per_position = false;  // synthetic: labels [context] instead of one
  bool label_per_pixel = false;     // images, masks, synthetic: labels [height, width] likewise
  bool parallel = false;            // synthetic: sentence pairs, fields as of kind "parallel"
};

// Shows the user a line about something that is wrong and does not stop the run; called from any
// thread.
using Warn = std::function<void(const std::string& line)>;

// Opens the sets that `config` names. They keep `warn`, which may be empty, and call it while
// samples are read. `fields`: names of the fields that this rank will read; empty: all. A rank that
// reads only the labels of images holds no images in memory. Throws Error(Input) for a missing,
// empty or unfit file, Error(Data) naming file and place for a damaged one; messages say what to do
// about it.
[[nodiscard]] Datasets open_datasets(const DataConfig& config, const SampleShape& shape,
                                     uint64_t seed, const Warn& warn = {},
                                     const std::vector<std::string>& fields = {});

// The samples of one micro-batch in host memory.
struct Batch {
  std::vector<std::string> names;  // of the fields
  std::vector<Tensor> tensors;     // for each name a tensor [micro-batch size, shape of the field]
  // How many samples are real. The others, which only the end of an evaluation has, are padding: -1
  // in labels, so that no loss counts them.
  int64_t samples = 0;
  [[nodiscard]] const Tensor& field(const std::string& name) const;  // Error(Internal) if absent
};

}  // namespace penstock
