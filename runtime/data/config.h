// runtime/data/config.h -- the [data] section of a run file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// How much may come out of a compressed file: 4 MiB and so many times the size of the file. 0: any
// amount. Text shrinks to a fifth, logs to a thirtieth; zeros, which somebody packed to fill our
// memory, to a thousandth.
inline constexpr int64_t kUnpackLimit = 64;

struct DataConfig {
  std::string kind = "synthetic";  // text | tokens | jsonl | parallel | images | synthetic
  std::string train = {};          // a file, folder or archive; parallel: see language_pair.h
  std::string validation = {};     // "": none; a share like "0.1" split off the end; or a path
  bool shuffle = true;             // text: also moves the windows; off: they lie end to end
  // text, parallel: word pieces (SentencePiece)
  std::string tokenizer = "characters";  // text: characters (bytes) | sentencepiece | folder
  // a .model file, empty: trained on the training text; folder: the folder, empty: model.from
  std::string vocabulary = {};
  int64_t vocabulary_size = 8000;  // of a trained one
  // jsonl
  bool packed = true;            // several samples a row, kept apart; off: one, padded
  std::string too_long = "cut";  // samples longer than the context: cut | leave-out
  std::string date = {};         // what chat templates take for today, "2024-07-26"
  // parallel
  std::vector<std::string> pairs = {};  // "en-de": from English to German
  double temperature = 5.0;             // of the sampling over pairs
  int64_t longest = 0;                  // pieces of a sentence; 0: what fits the model's context
  // images
  std::vector<std::string> leave_out = {};  // classes
  // what becomes of an image that cannot be decoded: "replace": the next good one of its class
  // takes its place, as long as no more than the share damage_limit of the files is damaged; "stop"
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
  int threads = 0;                // of each rank that decode; 0: as many as it has spare cores
  int spare_cores = 1;  // no key: cores of a rank that nothing computes on, as the start finds them
  int cut_threads = 1;  // no key: threads that cut texts before the first step, run.threads
  // No keys. The folder that keeps text in word pieces (tokens/token_cache.h), empty: none; and how
  // large a text must be to be kept.
  std::string cache_folder = {};
  int64_t cache_least_bytes = int64_t{1} << 20;
  int64_t unpack_limit = kUnpackLimit;  // of compressed files
  // No key. jsonl: what the validation lines ask takes the place of the samples
  // (datasets/tuning/questions.h).
  bool questions = false;
};

}  // namespace penstock
