// The data sets that [data] asks for, by kind.
#include "kernels/error.h"
#include "runtime/data/dataset.h"
#include "runtime/data/images.h"
#include "runtime/data/synthetic.h"
#include "runtime/data/text.h"

namespace penstock {

Datasets open_datasets(const DataConfig& config, const SampleShape& shape, uint64_t seed) {
  if (config.kind == "synthetic") return open_synthetic(config, shape, seed);
  if (config.kind != "text" && config.kind != "images") {
    fail_input("data.kind = \"" + config.kind + "\" is not known: it is text, images or synthetic");
  }
  if (config.train.empty()) {
    fail_input("data.train is missing: data.kind = \"" + config.kind + "\" needs a path");
  }
  if (config.kind == "images") return open_images(config, shape.image);
  if (shape.context < 1) {
    fail_input("data.kind = \"text\" needs a model that reads tokens, with model.context >= 1");
  }
  return open_text(config, shape.context);
}

}  // namespace penstock
