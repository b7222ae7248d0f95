// The data sets that [data] asks for, by kind.
#include <algorithm>

#include "kernels/error.h"
#include "runtime/data/datasets/dataset.h"
#include "runtime/data/datasets/images/images.h"
#include "runtime/data/datasets/images/masks.h"
#include "runtime/data/datasets/images/synthetic.h"
#include "runtime/data/datasets/text/text.h"
#include "runtime/data/datasets/translation/parallel.h"
#include "runtime/data/datasets/translation/synthetic_pairs.h"
#include "runtime/data/datasets/tuning/questions.h"
#include "runtime/data/datasets/tuning/tuning_set.h"

namespace penstock {
namespace {

bool reads_images(const std::vector<std::string>& fields) {
  return fields.empty() || std::ranges::find(fields, "images") != fields.end();
}

}  // namespace

Datasets open_datasets(const DataConfig& config, const SampleShape& shape, uint64_t seed,
                       const Warn& warn, const std::vector<std::string>& fields) {
  if (config.kind == "synthetic") {
    return shape.parallel ? open_synthetic_pairs(config, shape, seed)
                          : open_synthetic(config, shape, seed);
  }
  const bool text = config.kind == "text" || config.kind == "tokens";
  const bool parallel = config.kind == "parallel";
  const bool tuning = config.kind == "jsonl";
  const bool pixels = config.kind == "masks";
  if (!text && !parallel && !tuning && !pixels && config.kind != "images") {
    fail_input("data.kind = \"" + config.kind +
               "\" is not known: it is text, tokens, jsonl, parallel, images, masks or synthetic");
  }
  if (config.train.empty()) {
    fail_input("data.train is missing: data.kind = \"" + config.kind + "\" needs a path");
  }
  if (pixels != shape.label_per_pixel && (pixels || config.kind == "images")) {
    fail_input(pixels ? "data.kind = \"masks\" has a class for each pixel: give model.per_pixel = "
                        "true, which the kinds unet and sequential have"
                      : "model.per_pixel = true needs a class for each pixel: give data.kind = "
                        "\"masks\", or model.per_pixel = false");
  }
  if (pixels) {
    return open_masks(config, shape.image, shape.classes,
                      fields.empty() ? MaskLooks::All : MaskLooks::None);
  }
  if (config.kind == "images") {
    return open_images(config, shape.image, warn,
                       reads_images(fields) ? ImageReads::All : ImageReads::Labels);
  }
  if (shape.context < 1) {
    fail_input("data.kind = \"" + config.kind +
               "\" needs a model that reads tokens, with model.context >= 1");
  }
  if (tuning && config.questions) return open_questions(config, shape.context);
  if (tuning) return open_tuning(config, shape.context, seed);
  if (parallel) return open_parallel(config, shape.context);
  return open_text(config, shape.context, shape.classes,
                   fields.empty() ? IdLooks::All : IdLooks::None);
}

}  // namespace penstock
