#include "runtime/records/checkpoint/copies/copy_list.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <system_error>

#include "kernels/error.h"
#include "runtime/records/checkpoint/copies/copy_slot.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostCopyBytes = int64_t{64} << 20;

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> all;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) return all;
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code gone;
    if (entries->is_directory(gone)) all.push_back(entries->path().string());
  }
  if (error) fail_resource("cannot list " + folder + ": " + error.message());
  std::sort(all.begin(), all.end());
  return all;
}

// These are the copies of one step. `by_rank` has them by the rank whose state they hold.
struct Candidates {
  int ranks = 0;
  std::map<int, const FoundCopy*> by_rank;
};

std::string missing_ranks(const Candidates& candidates,
                          const std::map<int, const FoundCopy*>& frozen) {
  std::string missing;
  int count = 0;
  for (int rank = 0; rank < candidates.ranks; ++rank) {
    const auto found = candidates.by_rank.find(rank);
    const bool is_there = found != candidates.by_rank.end();
    if (is_there && (!found->second->document.needs_frozen || frozen.contains(rank))) continue;
    if (++count <= 4) missing += (count > 1 ? ", " : "") + std::to_string(rank);
  }
  if (count == 0) return "";
  if (count > 4) missing += " and " + std::to_string(count - 4) + " more";
  return (count == 1 ? "rank " : "ranks ") + missing + " of " + std::to_string(candidates.ranks);
}

}  // namespace

FoundCopies find_copies(const std::string& directory, const std::string& run) {
  FoundCopies found;
  for (const std::string& rank : folders_in(copies_folder(directory, run))) {
    for (const std::string& slot : folders_in(rank)) {
      const std::string path = slot + "/" + kCopyDocument;
      std::error_code error;
      if (!fs::exists(path, error)) continue;
      try {
        CopyDocument document = parse_copy(read_text(path, kMostCopyBytes, FileOwner::Run), path);
        if (document.state.run != run) fail_data(path + ": it is another run's");
        found.copies.push_back({slot, std::move(document), 0, ""});
      } catch (const Error& failure) {
        found.troubles.emplace_back(failure.what());
      }
    }
  }
  return found;
}

ChosenCopies choose_copies(const std::vector<FoundCopy>& found, int64_t attempt,
                           int64_t newer_than) {
  std::map<int, const FoundCopy*> frozen;
  std::map<int64_t, Candidates, std::greater<>> steps;
  bool has_older = false;
  for (const FoundCopy& copy : found) {
    const CopyDocument& document = copy.document;
    if (document.attempt != attempt) {
      has_older = has_older || (!document.is_frozen && document.state.step > newer_than);
    } else if (document.is_frozen) {
      frozen.emplace(document.rank, &copy);
    } else if (document.state.step > newer_than) {
      Candidates& candidates = steps[document.state.step];
      candidates.ranks = document.ranks;
      candidates.by_rank.emplace(document.rank, &copy);
    }
  }
  ChosenCopies chosen;
  for (const auto& [step, candidates] : steps) {
    const std::string missing = missing_ranks(candidates, frozen);
    if (!missing.empty()) {
      chosen.troubles.push_back("step " + std::to_string(step) +
                                " is not whole in memory: no host of this job has a copy of " +
                                missing);
      continue;
    }
    chosen.step = step;
    for (const auto& [rank, copy] : candidates.by_rank) chosen.copies.push_back(*copy);
    for (const auto& [rank, copy] : candidates.by_rank) {
      if (copy->document.needs_frozen) chosen.copies.push_back(*frozen.at(rank));
    }
    return chosen;
  }
  if (has_older) {
    chosen.troubles.push_back("copies in memory are of an earlier attempt than " +
                              std::to_string(attempt) + ", which has begun since");
  }
  return chosen;
}

}  // namespace penstock
