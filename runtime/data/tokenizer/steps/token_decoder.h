// runtime/data/tokenizer/steps/token_decoder.h -- how tokens become a text again (the "decoder" of
// a tokenizer.json).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct DecoderStep {
  enum class Kind : uint8_t {
    ByteLevel,     // words of the byte alphabet are bytes
    Replace,       // each `from` by `to`
    ByteFallback,  // <0x0A> is a byte
    Fuse,          // all are one from here on
    Strip,         // of each up to `first` times `from` at its beginning and `last` at its end
    Metaspace,     // `from` is a space, but none at the beginning of the first token if `first` > 0
    Spaces,        // a space between each two, where a file has no decoder
  };
  Kind kind = Kind::Fuse;
  std::string from = {}, to = {};
  int64_t first = 0, last = 0;
};

// A token as the file writes it. One that was added stands for itself.
struct WrittenToken {
  std::string text;
  bool added = false;
};

// The bytes of all, after all steps.
[[nodiscard]] std::string joined_text(std::vector<WrittenToken> tokens,
                                      const std::vector<DecoderStep>& steps);

}  // namespace penstock
