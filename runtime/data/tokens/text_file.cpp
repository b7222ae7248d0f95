#include "runtime/data/tokens/text_file.h"

#include "kernels/error.h"
#include "runtime/data/tokens/foreign_file.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

std::string_view without_return(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

}  // namespace

void read_pieces_of_file(const std::string& path,
                         const std::function<void(std::string_view bytes)>& take,
                         int64_t unpack_limit) {
  bool is_first = true;
  const auto look_and_take = [&](std::string_view bytes) {
    if (is_first) refuse_foreign_file(bytes, path);
    is_first = false;
    take(bytes);
  };
  unpack_pieces(path, look_and_take, unpack_limit);
}

std::vector<uint8_t> read_whole_file(const std::string& path, int64_t unpack_limit) {
  std::vector<uint8_t> all;
  read_pieces_of_file(
      path, [&](std::string_view bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); },
      unpack_limit);
  return all;
}

void LineSplitter::grow(std::string_view part) {
  if (begun_.size() + part.size() > kLongestLine) {
    fail_data(path_ + ", line " + std::to_string(line_) + " is longer than " +
              std::to_string(kLongestLine) + " bytes: break it into lines");
  }
  begun_ += part;
}

void LineSplitter::add(std::string_view bytes) {
  for (size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    grow(bytes.substr(0, end));
    take_(without_return(begun_));
    begun_.clear();
    ++line_;
    bytes.remove_prefix(end + 1);
  }
  grow(bytes);
}

void LineSplitter::end() {
  if (!begun_.empty()) take_(without_return(begun_));
}

void for_each_line(const std::string& path, const std::function<void(std::string_view line)>& take,
                   int64_t unpack_limit) {
  LineSplitter lines(path, take);
  read_pieces_of_file(
      path, [&](std::string_view bytes) { lines.add(bytes); }, unpack_limit);
  lines.end();
}

bool is_gzip(const std::string& path) {
  return InputFile(path).beginning().starts_with("\x1f\x8b");
}

bool is_compressed(const std::string& path) {
  const std::string head = InputFile(path).beginning();
  using namespace std::string_view_literals;
  if (head.starts_with("\x1f\x8b"sv) || head.starts_with("\x28\xb5\x2f\xfd"sv) ||
      head.starts_with("\xfd\x37zXZ\0"sv) || head.starts_with("BZh"sv)) {
    return true;
  }
  for (const char* name : {".gz", ".bz2", ".xz", ".zst"}) {
    if (head.empty() || !path.ends_with(name)) continue;
    fail_data(path + ", byte 0: its name ends in " + name +
              ", and its first bytes are of no compressed file: rename it if it is a plain one, " +
              "else make or download it again");
  }
  return false;
}

}  // namespace penstock
