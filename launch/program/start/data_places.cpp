// launch/program/start/data_places.cpp -- see data_places.h.
#include "launch/program/start/data_places.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <thread>

#include "launch/program/failure.h"
#include "launch/program/setup.h"
#include "runtime/data/datasets/share.h"
#include "runtime/data/datasets/translation/language_pair.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/data/tokens/shards/token_shards.h"

namespace penstock {
namespace {

bool is_readable(const std::string& file) {
  return access(file.c_str(), R_OK) == 0;
}

// Waits for a folder to appear, and returns whether it did. A file server can show a new folder to
// other hosts a little later.
bool appears(const std::string& folder) {
  constexpr int kTries = 20;
  constexpr std::chrono::milliseconds kBetween{100};
  std::error_code ignored;
  for (int i = 0; i < kTries; ++i) {
    if (std::filesystem::is_directory(folder, ignored)) return true;
    std::this_thread::sleep_for(kBetween);
  }
  return false;
}

}  // namespace

std::vector<std::string> data_files(const DataConfig& data) {
  if (data.kind == "synthetic") return {};
  std::vector<std::string> files;
  std::vector<std::string> corpora = {data.train};
  if (!data.validation.empty() && !share_of(data.validation)) corpora.push_back(data.validation);
  for (const std::string& corpus : corpora) {
    if (const auto shards = token_files(corpus); data.kind == "tokens" && !shards.empty()) {
      files.insert(files.end(), shards.begin(), shards.end());
      continue;
    }
    if (data.kind != "parallel") {
      files.push_back(corpus);
      continue;
    }
    for (const LanguagePair& pair : language_pairs(data.pairs)) {
      files.push_back(corpus_path(corpus, pair, pair.source));
      files.push_back(corpus_path(corpus, pair, pair.target));
    }
  }
  if (!data.vocabulary.empty()) {
    files.push_back(uses_folder(data) ? hub_tokenizer_file(data.vocabulary) : data.vocabulary);
  }
  return files;
}

bool reads_data(const Blueprint& blueprint, int position) {
  const std::vector<int>& ranks = blueprint.programs.training.rank_of_stage;
  for (int stage = 0; stage < blueprint.layout.stages; ++stage) {
    if (ranks[static_cast<size_t>(stage)] != position) continue;
    if (stage == 0) return true;  // stage 0 reads the input of the network
    const auto layers = blueprint.layout.layers_of(blueprint.model, stage);
    if (std::ranges::any_of(layers, [](const auto& layer) { return !layer->reads().empty(); })) {
      return true;
    }
  }
  return false;
}

void refuse_missing_data(Collective& world, const Session& session, const Grid& grid,
                         const DataConfig& data, const Blueprint& blueprint) {
  // Rank 0 has found the data already. So a path that rank 0 cannot open is no file but, for
  // example, the common beginning of several file names. Such a path is left out.
  constexpr char kEnd = '\0';  // the one character that no file name has
  std::istringstream files(on_first_rank(world, [&] {
    std::string seen;
    for (const std::string& file : data_files(data)) {
      if (is_readable(file)) seen += file + kEnd;
    }
    return seen;
  }));
  agree(world, name_of_rank(session, grid), [&] {
    if (!reads_data(blueprint, grid.position_of(session.rank()))) return;
    for (std::string file; std::getline(files, file, kEnd);) {
      if (is_readable(file)) continue;
      fail_resource(fmt::format(
          "{} cannot be read there: {}; ranks that read data need them under the same path: copy "
          "them to that host, or keep them on a file system that all hosts share",
          file, std::strerror(errno)));
    }
  });
}

void refuse_hidden_folder(Collective& world, const Session& session, const std::string& folder) {
  agree(world, fmt::format("rank {} (host {})", session.rank(), session.host()), [&] {
    if (appears(folder)) return;
    fail_resource(fmt::format(
        "the run directory {} is not to be seen there: every rank writes its part of a checkpoint "
        "to it, so choose --out on a file system that all hosts share",
        folder));
  });
}

}  // namespace penstock
