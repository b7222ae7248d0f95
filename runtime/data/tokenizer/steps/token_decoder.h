// runtime/data/tokenizer/steps/token_decoder.h -- joined_text(): puts tokens together as a text, by
// the steps of the part "decoder" of a tokenizer.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock {

// One step, which changes the tokens; its kind says which of the other members count.
struct DecoderStep {
  enum class Kind : uint8_t {
    ByteLevel,     // a token written in the byte alphabet (byte_alphabet.h) becomes its bytes
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

// A token as the tokenizer.json writes it.
struct WrittenToken {
  std::string text;
  bool added = false;  // an added token, whose text is never written in the byte alphabet
};

// The texts of all tokens after all steps, end to end.
[[nodiscard]] std::string joined_text(std::vector<WrittenToken> tokens,
                                      const std::vector<DecoderStep>& steps);

}  // namespace penstock
