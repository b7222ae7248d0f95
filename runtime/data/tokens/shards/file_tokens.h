// runtime/data/tokens/shards/file_tokens.h -- FileTokens: a TokenSource whose tokens lie end to end
// in a file, as numbers of 1, 2 or 4 bytes; and checks that all readers of token files need.
//
// Each read() reads just its range from the file. The file is not mapped into memory, since a
// mapped file that shrinks ends the process by SIGBUS. The ranks of a host share the pages that the
// system keeps of the file, and none keeps a copy.
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
  // The tokens are `size` little-endian numbers from byte `offset` of the file on; the caller has
  // checked that the file has them. `unit`: what a token is called in messages ("token", "byte").
  // `text`: the path of the text of which the tokens were made, which messages then name instead of
  // the file; may be empty.
  FileTokens(std::shared_ptr<const InputFile> file, int64_t offset, int64_t size, NumberType type,
             std::string unit, std::string text = {});

  [[nodiscard]] const std::string& path() const override {
    return text_.empty() ? file_->path() : text_;
  }
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] std::string unit() const override { return unit_; }
  [[nodiscard]] std::string place(int64_t index) const override;
  // As TokenSource::read(), without allocating memory. Throws Error(Data) naming file, byte and
  // number for a number that is no token id: a negative one, or one of 2^31 or more.
  void read(int64_t first, std::span<int32_t> out) const override;

 private:
  [[nodiscard]] int32_t token(const uint8_t* bytes, int64_t index) const;
  [[noreturn]] void no_id(uint32_t value, int64_t index) const;

  std::shared_ptr<const InputFile> file_;
  int64_t offset_, size_;
  NumberType type_;
  std::string unit_, text_;
};

// Throws Error(Data) that names file and byte and says `why` the file is no file of tokens.
[[noreturn]] void no_token_file(const std::string& path, int64_t byte, const std::string& why);

// The unsigned number that these bytes hold, at most eight of them, little-endian.
[[nodiscard]] uint64_t unsigned_of(std::span<const uint8_t> bytes);

// Checks the number of tokens that a header claims: throws Error(Data) unless the file has room for
// `tokens` tokens of `width` bytes from byte `begin` to its end (AtLeast), or exactly that room
// (Exactly).
enum class Room : uint8_t { AtLeast, Exactly };
void check_room(const InputFile& file, int64_t begin, uint64_t tokens, size_t width, Room room);

}  // namespace penstock
