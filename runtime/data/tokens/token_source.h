// runtime/data/tokens/token_source.h -- TokenSource: a long row of token ids, in memory or on disk,
// from which any thread reads a range; and the functions that open files as such rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/data/datasets/packed_file.h"
#include "runtime/data/tokens/packed_tokens.h"

namespace penstock {

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  [[nodiscard]] virtual const std::string& path() const = 0;  // of the file, for messages
  [[nodiscard]] virtual int64_t size() const = 0;             // number of tokens
  // What a token is called in messages: "token", "byte".
  [[nodiscard]] virtual std::string unit() const { return "token"; }
  // Where token `index` stands, for messages: "a.npy, byte 140: token 6, counted from 0,".
  [[nodiscard]] virtual std::string place(int64_t index) const {
    return path() + ": " + unit() + " " + std::to_string(index) + ", counted from 0,";
  }
  // Overwrites `out` with out.size() tokens, those from index `first` on, which must be there. May
  // be called by several threads at once. Throws Error(Data) naming the file where it is damaged.
  virtual void read(int64_t first, std::span<int32_t> out) const = 0;
};

// A hash of the tokens, at least 1, by which a resumed run notices that it was given another text.
// Of more than a million tokens it reads a million in 256 places, so that a changed letter may go
// unnoticed.
[[nodiscard]] int64_t content_sum(const TokenSource& tokens);

// The bytes of a text, plain or compressed, as tokens 0 to 255. A plain text stays on disk, a
// compressed one is unpacked into memory. Throws Error(Input) if there is no readable file,
// Error(Data) if it is damaged, unpacks to more than `unpack_limit` allows (text_file.h), or is
// another kind of file (foreign_file.h).
[[nodiscard]] std::shared_ptr<const TokenSource> open_bytes(const std::string& path,
                                                            int64_t unpack_limit = kUnpackLimit);

// Tokens in memory, taken over; `path` and `unit` are what path() and unit() return.
[[nodiscard]] std::shared_ptr<const TokenSource> tokens_in_memory(const std::string& path,
                                                                  PackedTokens tokens,
                                                                  const std::string& unit);

struct TokenFile {
  std::shared_ptr<const TokenSource> tokens;
  int64_t vocabulary = 0;  // ids are below this; 0: the file does not say
};
// Opens a file of token ids that another program has made, and reads from it where it lies. One of
//   - what numpy.save() writes: one axis of uint8, uint16, uint32 or int32;
//   - 32 bytes of header and the tokens: "PSTOKENS", then little-endian u32 version = 1, u32 bytes
//     of a token (1, 2 or 4), u64 number of tokens, u64 size of the vocabulary (0: unknown); a file
//     that a run keeps of a text (token_cache.h) has 48 bytes more;
//   - what llm.c's scripts write (shards/llmc_tokens.h);
//   - an index of Megatron's with the file beside it (shards/megatron_tokens.h).
// Throws Error(Input) when there is no readable file, Error(Data) naming file and byte when it is
// none of these.
[[nodiscard]] TokenFile open_token_file(const std::string& path);

}  // namespace penstock
