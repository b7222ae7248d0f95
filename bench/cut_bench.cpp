// cut_bench: megabytes of a text that are cut into tokens in a second, before the first step.
//
//   cut_bench THREADS ROUNDS VOCABULARY FILE
//
// VOCABULARY: a folder with a tokenizer, or a .model of SentencePiece. FILE: a text, or lines of
// JSON where its name ends in .jsonl. Prints a line a round, with a sum of the tokens: it is the
// same for every number of threads.
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <filesystem>
#include <string>

#include "runtime/data/datasets/tuning/tuning_texts.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/pieces.h"
#include "runtime/data/tokens/token_cache.h"

namespace penstock {
namespace {

void measure(int threads, int rounds, const std::string& vocabulary, const std::string& file) {
  DataConfig config{.vocabulary = vocabulary};
  config.cut_threads = threads;
  const bool folder = std::filesystem::is_directory(vocabulary);
  config.tokenizer = folder ? "folder" : "sentencepiece";
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  for (int round = 0; round < rounds; ++round) {
    std::shared_ptr<const TokenSource> tokens;
    const auto start = std::chrono::steady_clock::now();
    if (!folder) {
      tokens = text_in_pieces(file, config, Pieces(vocabulary), TextForm::Row).tokens;
    } else if (file.ends_with(".jsonl")) {
      tokens = TuningFolder(config).texts(file, 1024).tokens;
    } else {
      const auto tokenizer = open_hub_tokenizer(vocabulary);
      tokens = text_by_tokenizer(file, config, *tokenizer).tokens;
    }
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{:.2f} MB/s, {} tokens, sum {:x}\n", bytes / seconds / 1e6, tokens->size(),
               content_sum(*tokens));
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    if (argc != 5) throw std::invalid_argument("usage: cut_bench THREADS ROUNDS VOCABULARY FILE");
    penstock::measure(std::stoi(argv[1]), std::stoi(argv[2]), argv[3], argv[4]);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "cut_bench: {}\n", error.what());
    return 2;
  }
}
