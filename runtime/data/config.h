// runtime/data/config.h -- DataConfig: the [data] section of a run file, key by key: which files a
// run trains on and how samples are made of them.
//
// A word in front of a colon, or on a line above a group of keys (text, parallel, jsonl, images),
// says for which `kind` the keys count. Members marked "no key" are not in the run file: the
// program sets them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// The default of data.unpack_limit: a compressed file may unpack to 4 MiB plus this many times its
// size. Compression makes text 5 times smaller and logs 30 times, but a file of zeros that is made
// to exhaust memory 1000 times.
inline constexpr int64_t kUnpackLimit = 64;

struct DataConfig {
  // text: a text file; tokens: files of token ids; jsonl: texts or conversations, one a line;
  // parallel: sentences with their translations; images: files sorted into folders by class; masks:
  // images with a class for each pixel; synthetic: random numbers.
  std::string kind = "synthetic";
  std::string train = {};       // a file, folder or archive; parallel: a path with {language}
  std::string validation = {};  // empty: none; a share of `train` like "0.1", its end; or a path
  // True: each epoch visits the samples in another order, and windows of text begin at random
  // offsets. False: samples in their order, windows of text end to end.
  bool shuffle = true;
  // text, parallel, jsonl
  std::string tokenizer = "characters";  // characters (bytes) | sentencepiece | folder
  // tokenizer sentencepiece, and parallel: a SentencePiece .model file; empty: one is trained on
  // the training text. tokenizer folder: the Hugging Face folder; empty: model.from.
  std::string vocabulary = {};
  int64_t vocabulary_size = 8000;  // number of word pieces, where a vocabulary is trained
  // jsonl
  bool packed = true;  // a row holds several samples, which the network keeps apart; false: one
  std::string too_long = "cut";  // samples longer than model.context: cut | leave-out
  std::string date = {};  // what chat templates take for today, "2024-07-26"; empty: not given
  // parallel
  std::vector<std::string> pairs = {};  // "en-de": from English to German
  // T: a language pair with n sentence pairs gets a share of the samples proportional to n^(1/T).
  double temperature = 5.0;
  int64_t longest = 0;  // pieces of the longest sentence that is used; 0: what fits model.context
  // images
  std::vector<std::string> leave_out = {};  // names of classes that are not used
  // What becomes of an image that cannot be decoded. "replace": the next good image of its class
  // takes its place; if more than the share damage_limit of the files is damaged, the run ends.
  // "stop": the run ends at the first one.
  std::string on_damage = "replace";
  double damage_limit = 0.01;
  // masks
  int64_t ignore = 255;  // pixels of this number are no target; -1: every pixel is one
  // images, masks: augmentation of training samples, and normalisation of all samples
  int crop_padding = 0;           // pixels added on each side before a random crop back to the size
  bool flip = false;              // random horizontal flip
  int cutout = 0;                 // side of a square set to the mean, 0 = off
  std::vector<double> mean = {};  // per channel, of pixels in [0, 1]; empty: 0.5 each
  std::vector<double> std = {};   // per channel; empty: 0.25 each
  int64_t samples = 0;            // synthetic: samples per epoch; 0 = 2^20
  int prefetch = 2;               // steps whose samples are read ahead
  int threads = 0;                // threads of each rank that read ahead; 0: spare_cores of them
  int spare_cores = 1;            // no key: cores of a rank on which no thread computes
  int cut_threads = 1;            // no key: threads that cut texts into tokens before step 1
  // No key: the folder in which tokens of texts are kept (runtime/data/tokens/token_cache.h);
  // empty: they are not kept.
  std::string cache_folder = {};
  int64_t cache_least_bytes = int64_t{1} << 20;  // no key: tokens of smaller texts are not kept
  int64_t unpack_limit = kUnpackLimit;           // of compressed files; 0: no limit
  // No key. jsonl: the validation set is questions for `penstock eval`
  // (runtime/data/datasets/tuning/questions.h) instead of samples.
  bool questions = false;
};

}  // namespace penstock
