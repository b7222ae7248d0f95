// runtime/data/tokens/shards/file_tokens.h -- FileTokens: tokens that lie end to end in a file as
// numbers of one width; and checks that the readers of token files have in common.
//
// The file is read by position, not mapped: a mapped file that shrinks ends the process by SIGBUS.
// The ranks of a host share the pages that the system keeps of the file, and none keeps a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/data/tokens/token_source.h"
#include "runtime/system/files/input_file.h"

namespace penstock {

// The type of the numbers in a file.
struct NumberType {
  size_t width = 4;  // in bytes: 1, 2 or 4
  bool is_signed = false;
};

class FileTokens final : public TokenSource {
 public:
  // `size` little-endian numbers from byte `offset` on, which are there. `unit`: what a token is
  // called ("token", "byte"). `text`: the path of the text that they were made of, which messages
  // name instead of the file; may be empty.
  FileTokens(std::shared_ptr<const InputFile> file, int64_t offset, int64_t size, NumberType type,
             std::string unit, std::string text = {});

  [[nodiscard]] const std::string& path() const override {
    return text_.empty() ? file_->path() : text_;
  }
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] std::string unit() const override { return unit_; }
  // Reads through a small buffer, without allocating. Throws Error(Data) naming file, byte and
  // number where a number is no id: negative, or 2^31 or more.
  void read(int64_t first, std::span<int32_t> out) const override;

 private:
  [[nodiscard]] int32_t token(const uint8_t* bytes, int64_t index) const;
  [[noreturn]] void no_id(uint32_t value, int64_t index) const;

  std::shared_ptr<const InputFile> file_;
  int64_t offset_, size_;
  NumberType type_;
  std::string unit_, text_;
};

// Throws Error(Data) that names the file and the byte, and says why it is no file of tokens.
[[noreturn]] void no_token_file(const std::string& path, int64_t byte, const std::string& why);

// The number that at most eight little-endian bytes hold.
[[nodiscard]] uint64_t unsigned_of(std::span<const uint8_t> bytes);

// Throws Error(Data) unless `tokens` tokens of `width` bytes lie between byte `begin` and the end
// of the file (AtLeast), or fill it (Exactly).
enum class Room : uint8_t { AtLeast, Exactly };
void check_room(const InputFile& file, int64_t begin, uint64_t tokens, size_t width, Room room);

}  // namespace penstock
