#include "runtime/data/tokenizer/steps/token_decoder.h"

#include "runtime/data/tokenizer/steps/byte_alphabet.h"
#include "runtime/data/tokenizer/steps/byte_words.h"

namespace penstock {
namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  text = out.append(text, done);
}

void strip(std::string& text, const DecoderStep& step) {
  for (int64_t i = 0; i < step.first && text.starts_with(step.from); ++i) {
    text.erase(0, step.from.size());
  }
  for (int64_t i = 0; i < step.last && text.ends_with(step.from); ++i) {
    text.resize(text.size() - step.from.size());
  }
}

std::string all_of(const std::vector<WrittenToken>& tokens, const std::string& between) {
  std::string all;
  for (const WrittenToken& token : tokens)
    all += (&token == tokens.data() ? "" : between) + token.text;
  return all;
}

void apply(const DecoderStep& step, std::vector<WrittenToken>& tokens) {
  using Kind = DecoderStep::Kind;
  if (step.kind == Kind::Fuse || step.kind == Kind::Spaces) {
    tokens = {{all_of(tokens, step.kind == Kind::Spaces ? " " : ""), false}};
    return;
  }
  for (WrittenToken& token : tokens) {
    if (step.kind == Kind::ByteLevel) {
      if (!token.added) token.text = bytes_of_word(token.text).value_or(token.text);
    } else if (step.kind == Kind::Replace) {
      replace_all(token.text, step.from, step.to);
    } else if (step.kind == Kind::ByteFallback) {
      if (const auto byte = byte_of_word(token.text)) token.text = std::string(1, *byte);
    } else if (step.kind == Kind::Strip) {
      strip(token.text, step);
    } else if (step.kind == Kind::Metaspace) {
      const bool first = &token == tokens.data() && step.first > 0;
      replace_all(token.text, step.from, first ? "" : " ");
    }
  }
}

}  // namespace

std::string joined_text(std::vector<WrittenToken> tokens, const std::vector<DecoderStep>& steps) {
  for (const DecoderStep& step : steps) apply(step, tokens);
  return all_of(tokens, "");
}

}  // namespace penstock
