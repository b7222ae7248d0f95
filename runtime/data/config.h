// runtime/data/config.h -- the [data] section of a run file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The most that a compressed file may unpack to: 4 MiB and this many times its size; 0: any amount.
// Text shrinks to a fifth, logs to a thirtieth; a file of zeros that is made to exhaust memory, to
// a thousandth.
inline constexpr int64_t kUnpackLimit = 64;

struct DataConfig {
  std::string kind = "synthetic";  // text | tokens | jsonl | parallel | images | synthetic
  std::string train = {};          // a file, folder or archive; parallel: a path with {language}
  std::string validation = {};     // "": none; a share like "0.1", off the end of `train`; a path
  // Each epoch in an order of its own; text: windows begin at random offsets, else end to end.
  bool shuffle = true;
  // text, parallel, jsonl
  std::string tokenizer = "characters";  // characters (bytes) | sentencepiece | folder
  // sentencepiece and parallel: a .model file, empty: trained on the training text; folder: the
  // folder, empty: model.from
  std::string vocabulary = {};
  int64_t vocabulary_size = 8000;  // word pieces of a trained vocabulary
  // jsonl
  bool packed = true;            // several samples in each row, kept apart; off: one, padded
  std::string too_long = "cut";  // samples longer than the context: cut | leave-out
  std::string date = {};         // today's date for chat templates, "2024-07-26"
  // parallel
  std::vector<std::string> pairs = {};  // "en-de": from English to German
  double temperature = 5.0;             // T: n sentence pairs are sampled as n^(1/T)
  int64_t longest = 0;                  // most pieces of a sentence; 0: what fits the context
  // images
  std::vector<std::string> leave_out = {};  // classes that are not used
  // what becomes of an image that cannot be decoded: "replace": the next good one of its class
  // takes its place, while at most the share damage_limit of the files is damaged; "stop": an error
  std::string on_damage = "replace";
  double damage_limit = 0.01;
  // augmentation of training samples and normalisation of all
  int crop_padding = 0;           // pixels added on each side before a random crop back to the size
  bool flip = false;              // random horizontal flip
  int cutout = 0;                 // side of a square set to the mean, 0 = off
  std::vector<double> mean = {};  // per channel, of pixels in [0, 1]; empty: 0.5 each
  std::vector<double> std = {};   // per channel; empty: 0.25 each
  int64_t samples = 0;            // synthetic: samples per epoch; 0 = 2^20
  int prefetch = 2;               // mini-batches decoded ahead
  int threads = 0;                // decoding threads of each rank; 0: as many as spare cores
  int spare_cores = 1;            // no key: cores of a rank that no computing thread has
  int cut_threads = 1;            // no key: threads that cut texts before the first step
  std::string cache_folder = {};  // no key: keeps tokens of texts (token_cache.h); "": nowhere
  int64_t cache_least_bytes = int64_t{1} << 20;  // no key: smaller texts are not kept
  int64_t unpack_limit = kUnpackLimit;           // of compressed files; 0: no limit
  // No key. jsonl: the validation set is questions with their answers (questions.h), not samples.
  bool questions = false;
};

}  // namespace penstock
