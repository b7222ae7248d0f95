// fuzz_readers: gives every reader damaged copies of its seeds, the same ones for the same --seed,
// and checks what it does with them (check.h). The first that breaks a rule is left in the working
// directory; given as FILE it is read again.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "check.h"
#include "mutate.h"

namespace penstock::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "usage: fuzz_readers [--target NAME] [--runs N] [--seconds S] [--seed N] [FILE...]\n"
    "  --target NAME  this one of the targets, not all\n"
    "  --runs N       damaged files of each target (1000)\n"
    "  --seconds S    or as many as take so long\n"
    "  FILE           read these, with --target, and no others\n";

struct FuzzOptions {
  std::string target;
  uint64_t runs = 1000;
  double seconds = 0;
  uint64_t seed = 1;
  std::vector<std::string> files;
};

FuzzOptions options_of(int argc, char** argv) {
  FuzzOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool has_value = argument.starts_with("--");
    if (has_value && i + 1 == argc) throw std::invalid_argument(argument + " needs a value");
    const std::string value = has_value ? argv[++i] : "";
    if (argument == "--target") {
      options.target = value;
    } else if (argument == "--runs") {
      options.runs = std::stoull(value);
    } else if (argument == "--seconds") {
      options.seconds = std::stod(value);
    } else if (argument == "--seed") {
      options.seed = std::stoull(value);
    } else if (!has_value) {
      options.files.push_back(argument);
    } else {
      throw std::invalid_argument("unknown option " + argument);
    }
  }
  return options;
}

std::string contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

// The contents of the files in a folder, in the order of their names; none where there is no
// folder.
std::vector<std::string> files_of(const fs::path& folder) {
  std::vector<fs::path> paths;
  if (!fs::exists(folder)) return {};
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> files;
  files.reserve(paths.size());
  for (const fs::path& path : paths) files.push_back(contents_of(path));
  return files;
}

// What the inputs of one target have come to.
struct Tally {
  uint64_t runs = 0, accepted = 0;
  size_t peak_bytes = 0;
};

// False when a rule was broken, which it says.
bool check(const FuzzTarget& target, const std::string& bytes, const std::string& path,
           Tally& tally) {
  const std::string finding = "finding-" + target.name;
  try {
    const FuzzResult result = check_input(target, bytes, path);
    ++tally.runs;
    tally.accepted += result.accepted ? 1 : 0;
    tally.peak_bytes = std::max(tally.peak_bytes, result.peak_bytes);
    return true;
  } catch (const std::exception& error) {
    std::ofstream(finding, std::ios::binary) << bytes;
    std::fprintf(stderr, "%s: %s\n  the bytes are in %s\n", target.name.c_str(), error.what(),
                 finding.c_str());
    return false;
  }
}

bool fuzz(const FuzzTarget& target, const FuzzOptions& options, const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  Tally tally;
  bool good = true;
  const std::vector<std::string> seeds = files_of(fs::path(PENSTOCK_FILES) / "seeds" / target.name);
  if (seeds.empty()) throw std::runtime_error("no seeds of " + target.name);
  for (const std::string& seed : seeds) good = check(target, seed, path, tally) && good;
  if (tally.accepted != seeds.size()) {
    std::fprintf(stderr, "%s: a seed is refused\n", target.name.c_str());
    good = false;
  }
  // Files that a reader once did not refuse as it should.
  for (const std::string& file : files_of(fs::path(PENSTOCK_FILES) / "found" / target.name)) {
    good = check(target, file, path, tally) && good;
  }
  std::mt19937_64 random(options.seed * 1000003 + std::hash<std::string>()(target.name));
  const auto more = [&] {
    return options.seconds > 0 ? seconds() < options.seconds
                               : tally.runs < options.runs + seeds.size();
  };
  while (good && more()) good = check(target, mutated(target, seeds, random), path, tally);
  std::printf("%-14s %8llu files, %7llu of them read, %6.1f MiB at most, %6.2f s\n",
              target.name.c_str(), static_cast<unsigned long long>(tally.runs),
              static_cast<unsigned long long>(tally.accepted),
              static_cast<double>(tally.peak_bytes) / (1 << 20), seconds());
  return good;
}

int run(const FuzzOptions& options, const std::string& path) {
  bool good = true;
  bool known = false;
  for (const FuzzTarget& target : fuzz_targets()) {
    if (!options.target.empty() && options.target != target.name) continue;
    known = true;
    Tally tally;
    for (const std::string& file : options.files) {
      good = check(target, contents_of(file), path, tally) && good;
    }
    if (options.files.empty()) good = fuzz(target, options, path) && good;
  }
  if (!known) throw std::invalid_argument("unknown target " + options.target);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace penstock::fuzz

int main(int argc, char** argv) {
  // A folder in memory where that is possible: a file that is written again and again goes to disk
  // each time.
  const std::filesystem::path shared = "/dev/shm";
  std::string folder =
      ((std::filesystem::is_directory(shared) ? shared : std::filesystem::temp_directory_path()) /
       "penstock-fuzz-XXXXXX")
          .string();
  if (mkdtemp(folder.data()) == nullptr) return 3;
  int code = 2;
  try {
    code = penstock::fuzz::run(penstock::fuzz::options_of(argc, argv), folder + "/input");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fuzz_readers: %s\n%s", error.what(), penstock::fuzz::kUsage);
  }
  std::filesystem::remove_all(folder);
  return code;
}
