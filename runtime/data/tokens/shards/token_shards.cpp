#include "runtime/data/tokens/shards/token_shards.h"

#include <glob.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokens/shards/file_tokens.h"
#include "runtime/data/tokens/shards/llmc_tokens.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  std::ranges::sort(paths);  // the order of glob() depends on the locale
  return paths;
}

// Returns whether the path is the name.bin of a pair name.bin and name.idx. A file that begins like
// a file of llm.c is no part of a pair.
bool is_of_a_pair(const std::string& path) {
  if (!path.ends_with(".bin") || !is_file(fs::path(path).replace_extension(".idx").string())) {
    return false;
  }
  const InputFile file(path);
  std::array<uint8_t, 4> first{};
  if (file.size_bytes() < 4) return true;
  file.read(0, first);
  return !is_llmc(first);
}

class JoinedTokens final : public TokenSource {
 public:
  JoinedTokens(std::string path, std::vector<std::shared_ptr<const TokenSource>> parts)
      : path_(std::move(path)), parts_(std::move(parts)) {
    for (const auto& part : parts_) ends_.push_back(size() + part->size());
  }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  [[nodiscard]] std::string place(int64_t index) const override {
    const size_t p = part_of(index);
    return parts_[p]->place(index - begin_of(p));
  }
  void read(int64_t first, std::span<int32_t> out) const override {
    for (size_t p = part_of(first); !out.empty(); ++p) {
      const int64_t begin = begin_of(p);
      const auto n = std::min(out.size(), static_cast<size_t>(ends_[p] - first));
      parts_[p]->read(first - begin, out.first(n));
      out = out.subspan(n);
      first += static_cast<int64_t>(n);
    }
  }

 private:
  [[nodiscard]] size_t part_of(int64_t index) const {
    return static_cast<size_t>(std::ranges::upper_bound(ends_, index) - ends_.begin());
  }
  [[nodiscard]] int64_t begin_of(size_t part) const { return part == 0 ? 0 : ends_[part - 1]; }

  std::string path_;
  std::vector<std::shared_ptr<const TokenSource>> parts_;
  std::vector<int64_t> ends_;  // where each part ends in the whole
};

}  // namespace

std::vector<std::string> token_files(const std::string& path) {
  if (is_file(path)) {
    return {is_of_a_pair(path) ? fs::path(path).replace_extension(".idx").string() : path};
  }
  if (is_file(path + ".idx")) return {path + ".idx"};
  return path.find_first_of("*?") == std::string::npos ? std::vector<std::string>()
                                                       : matching(path);
}

TokenFile open_token_files(const std::string& path) {
  const std::vector<std::string> files = token_files(path);
  if (files.empty()) fail_input("there is no token file at " + path);
  if (files.size() == 1) return open_token_file(files.front());
  TokenFile all;
  std::vector<std::shared_ptr<const TokenSource>> parts;
  for (const std::string& file : files) {
    TokenFile part = open_token_file(file);
    all.vocabulary = std::max(all.vocabulary, part.vocabulary);
    parts.push_back(std::move(part.tokens));
  }
  all.tokens = std::make_shared<JoinedTokens>(path, std::move(parts));
  return all;
}

}  // namespace penstock
