#include "runtime/data/tokenizer/steps/token_decoder.h"

#include <boost/algorithm/string/replace.hpp>

#include "kernels/joined.h"
#include "runtime/data/tokenizer/steps/byte_alphabet.h"
#include "runtime/data/tokenizer/steps/byte_words.h"

namespace penstock {
namespace {

void strip(std::string& text, const DecoderStep& step) {
  for (int64_t i = 0; i < step.first && text.starts_with(step.from); ++i) {
    text.erase(0, step.from.size());
  }
  for (int64_t i = 0; i < step.last && text.ends_with(step.from); ++i) {
    text.resize(text.size() - step.from.size());
  }
}

void apply(const DecoderStep& step, std::vector<WrittenToken>& tokens) {
  using Kind = DecoderStep::Kind;
  if (step.kind == Kind::Fuse || step.kind == Kind::Spaces) {
    tokens = {{joined(tokens, step.kind == Kind::Spaces ? " " : "", &WrittenToken::text), false}};
    return;
  }
  for (WrittenToken& token : tokens) {
    if (step.kind == Kind::ByteLevel) {
      if (!token.added) token.text = bytes_of_word(token.text).value_or(token.text);
    } else if (step.kind == Kind::Replace) {
      boost::replace_all(token.text, step.from, step.to);
    } else if (step.kind == Kind::ByteFallback) {
      if (const auto byte = byte_of_word(token.text)) token.text = std::string(1, *byte);
    } else if (step.kind == Kind::Strip) {
      strip(token.text, step);
    } else if (step.kind == Kind::Metaspace) {
      const bool first = &token == tokens.data() && step.first > 0;
      boost::replace_all(token.text, step.from, first ? "" : " ");
    }
  }
}

}  // namespace

std::string joined_text(std::vector<WrittenToken> tokens, const std::vector<DecoderStep>& steps) {
  for (const DecoderStep& step : steps) apply(step, tokens);
  return joined(tokens, "", &WrittenToken::text);
}

}  // namespace penstock
