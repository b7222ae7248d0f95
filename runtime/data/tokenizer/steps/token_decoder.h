// runtime/data/tokenizer/steps/token_decoder.h -- how tokens become a text again (the "decoder" of
// a tokenizer.json).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

struct DecoderStep {
  enum class Kind : uint8_t {
    ByteLevel,     // a token written in the byte alphabet becomes its bytes
    Replace,       // each `from` becomes `to`
    ByteFallback,  // a token like <0x0A> becomes that byte
    Fuse,          // all tokens become one
    Strip,      // removes from each token up to `first` times `from` in front, `last` times behind
    Metaspace,  // each `from` becomes a space; in the first token nothing if `first` > 0
    Spaces,     // all tokens become one, with spaces between: for a file without a decoder
  };
  Kind kind = Kind::Fuse;
  std::string from = {}, to = {};
  int64_t first = 0, last = 0;
};

// A token as the file writes it.
struct WrittenToken {
  std::string text;
  bool added = false;  // an added token: its text is not written in the byte alphabet
};

// The bytes of all tokens, end to end, after all steps.
[[nodiscard]] std::string joined_text(std::vector<WrittenToken> tokens,
                                      const std::vector<DecoderStep>& steps);

}  // namespace penstock
