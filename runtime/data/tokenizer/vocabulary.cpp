#include "runtime/data/tokenizer/vocabulary.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernels/error.h"
#include "kernels/philox.h"
#include "runtime/data/datasets/text/text.h"
#include "runtime/data/datasets/translation/language_pair.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/system/files/atomic_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Training with more lines than this takes longer, and the vocabulary is no better.
constexpr size_t kMostLines = 1'000'000;

std::set<std::string> training_files(const DataConfig& config) {
  if (config.kind != "parallel") return {config.train};
  std::set<std::string> files;
  for (const LanguagePair& pair : language_pairs(config.pairs)) {
    files.insert(corpus_path(config.train, pair, pair.source));
    files.insert(corpus_path(config.train, pair, pair.target));
  }
  return files;
}

PieceTraining training_of(const DataConfig& config) {
  PieceTraining how;
  how.size = config.vocabulary_size;
  if (config.kind == "parallel") {
    for (const LanguagePair& pair : language_pairs(config.pairs)) {
      if (std::find(how.control.begin(), how.control.end(), pair.tag()) == how.control.end()) {
        how.control.push_back(pair.tag());
      }
    }
  } else {
    how.control = {kLinePiece};
    how.lossless = true;
  }
  return how;
}

// Returns the first lines of every file: the same number from each, without empty lines.
std::vector<std::string> training_lines(const std::set<std::string>& files, int64_t unpack_limit) {
  const size_t share = kMostLines / files.size();
  std::vector<std::string> lines;
  for (const std::string& file : files) {
    size_t taken = 0;
    const auto take = [&](std::string_view line) {
      if (line.empty() || taken >= share) return;
      lines.emplace_back(line);
      ++taken;
    };
    for_each_line(file, take, unpack_limit);
  }
  return lines;
}

// Returns 16 hexadecimal digits that depend on the text and on the way the pieces are trained.
std::string fingerprint(const std::vector<std::string>& lines, const PieceTraining& how) {
  uint64_t hash = mix(static_cast<uint64_t>(how.size) * 2 + (how.lossless ? 1 : 0));
  for (const std::string& piece : how.control) hash = mix(hash ^ hash_name(piece));
  for (const std::string& line : lines) hash = mix(hash ^ hash_name(line));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(hash >> shift) & 15];
  return text;
}

}  // namespace

bool uses_pieces(const DataConfig& config) {
  return config.kind == "parallel" ||
         (config.kind == "text" && config.tokenizer == "sentencepiece");
}

bool uses_folder(const DataConfig& config) {
  return config.tokenizer == "folder" && (config.kind == "text" || config.kind == "jsonl");
}

bool packs_rows(const DataConfig& config) {
  return config.kind == "jsonl" && config.packed;
}

std::string provide_vocabulary(const DataConfig& config, const std::string& folder) {
  if (!config.vocabulary.empty()) {
    (void)Pieces(config.vocabulary);  // throws if the file is no vocabulary
    return config.vocabulary;
  }
  const PieceTraining how = training_of(config);
  const std::vector<std::string> lines =
      training_lines(training_files(config), config.unpack_limit);
  if (lines.empty()) fail_input("there is no text to train a vocabulary on: is data.train empty?");
  const fs::path path = fs::path(folder) / ("pieces-" + fingerprint(lines, how) + ".model");
  std::error_code error;
  if (!fs::exists(path, error)) replace_file(path, train_pieces(lines, how));
  return path.string();
}

bool reads_tokens(const DataConfig& config) {
  return config.kind == "text" || config.kind == "tokens" || config.kind == "jsonl" ||
         config.kind == "parallel";
}

int64_t known_vocabulary(const DataConfig& config) {
  if (uses_folder(config)) {
    return config.vocabulary.empty() ? 0 : open_hub_tokenizer(config.vocabulary)->size();
  }
  if (!uses_pieces(config)) return config.kind == "text" ? kByteVocabulary : 0;
  return config.vocabulary.empty() ? config.vocabulary_size : Pieces(config.vocabulary).size();
}

}  // namespace penstock
