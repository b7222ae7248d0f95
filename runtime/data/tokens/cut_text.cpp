#include "runtime/data/tokens/cut_text.h"

#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/data/tokens/in_order.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr size_t kLeastPartBytes = size_t{1} << 20;
constexpr size_t kMostPartBytes = size_t{256} << 20;
constexpr size_t kAroundBytes = size_t{1} << 10;  // at most kLeastPartBytes

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_visible_ascii(char c) {
  return c > ' ' && c < '\x7f';
}

// Whether a line ends before byte `at`, between a visible character and a letter of ASCII: most
// tokenizers cut there.
bool line_ends(std::string_view text, size_t at) {
  return text[at - 1] == '\n' && is_visible_ascii(text[at - 2]) && is_ascii_letter(text[at]);
}

// Whether the tokens of what stands around byte `at` are those of its two halves, end to end. Rules
// of tokenizers may join or change what stands on both sides of a line end (tokens that hold one,
// added tokens that take the white space beside them, spaces in its place), and none that is in use
// reaches further than kAroundBytes.
bool parts_at(const Tokenizer& tokenizer, std::string_view text, size_t at) {
  constexpr PartOfText kInside{.begins = false, .ends = false};
  const std::string_view around = text.substr(at - kAroundBytes, 2 * kAroundBytes);
  std::vector<int32_t> halves = tokenizer.encode_part(around.substr(0, kAroundBytes), kInside);
  const std::vector<int32_t> second = tokenizer.encode_part(around.substr(kAroundBytes), kInside);
  halves.insert(halves.end(), second.begin(), second.end());
  return tokenizer.encode_part(around, kInside) == halves;
}

bool has_mark(std::string_view text) {
  return without_mark(text).size() < text.size();
}

struct TextPart {
  std::string text;
  PartOfText place;
};

// Calls take() with one part of the text after the other. Each part but the last has
// kLeastPartBytes or more, and ends where parts_at() allows it. Throws as read_pieces_of_file()
// does, and Error(Input) if a part would be longer than kMostPartBytes.
void for_each_text_part(const std::string& path, const Tokenizer& tokenizer,
                        const std::function<void(TextPart part)>& take, int64_t unpack_limit) {
  std::string text;  // what is not yet taken
  bool begins = true;
  size_t at = kLeastPartBytes;  // the next place at which it may be parted
  const auto add = [&](std::string_view bytes) {
    text += bytes;
    while (at + kAroundBytes <= text.size()) {
      if (!line_ends(text, at)) {
        ++at;
      } else if (!parts_at(tokenizer, text, at)) {
        at += kAroundBytes;  // not the next line, or a text that is not parted would take too long
      } else {
        take({text.substr(0, at), {.begins = begins, .ends = false}});
        text.erase(0, at);
        begins = false;
        at = kLeastPartBytes;
      }
    }
    if (text.size() > kMostPartBytes) {
      fail_input(path + " has " + std::to_string(text.size()) +
                 " bytes without a line that begins with a letter and that its tokenizer cuts off "
                 "from the line before: divide it into lines or files");
    }
  };
  read_pieces_of_file(path, add, unpack_limit);
  if (!text.empty()) take({std::move(text), {.begins = begins, .ends = true}});
}

}  // namespace

void end_line(CutText& text, const std::string& path, const std::string& remedy) {
  if (text.tokens.size() > std::numeric_limits<uint32_t>::max()) {
    fail_input(path + " has more than 2^32 pieces: " + remedy);
  }
  text.starts.push_back(static_cast<uint32_t>(text.tokens.size()));
}

CutText cut_lines(const std::string& path, const DataConfig& config, const Pieces& vocabulary,
                  TextForm form) {
  CutText text{PackedTokens(vocabulary.size())};
  if (form == TextForm::Lines) text.starts.push_back(0);
  const std::optional<int32_t> line_end = vocabulary.find(kLinePiece);
  using Lines = InOrder<std::string, std::vector<int32_t>>;
  const auto read = [&](const Lines::Give& give) {
    bool is_first = true;
    const auto give_line = [&](std::string_view line) {
      if (is_first) text.marked = has_mark(line);
      is_first = false;
      give(std::string(line), line.size() + 1);
    };
    for_each_line(path, give_line, config.unpack_limit);
  };
  std::atomic<int64_t> not_utf8 = 0;
  const auto make = [&](const std::string& line) {
    not_utf8 += bytes_not_utf8(line);
    std::vector<int32_t> ids = vocabulary.encode(line);
    if (form == TextForm::Row && line_end) ids.push_back(*line_end);
    return ids;
  };
  const auto take = [&](const std::vector<int32_t>& ids) {
    text.tokens.append(ids);
    if (form == TextForm::Lines) end_line(text, path, "divide it into several language pairs");
  };
  Lines::run(config.cut_threads, read, make, take);
  text.not_utf8 = not_utf8;
  return text;
}

CutText cut_as_it_is(const std::string& path, const DataConfig& config,
                     const Tokenizer& tokenizer) {
  CutText text{PackedTokens(tokenizer.size())};
  using Parts = InOrder<TextPart, PackedTokens>;
  const auto read = [&](const Parts::Give& give) {
    const auto give_part = [&](TextPart part) {
      if (part.place.begins) text.marked = has_mark(part.text);
      const size_t bytes = part.text.size();
      give(std::move(part), bytes);
    };
    for_each_text_part(path, tokenizer, give_part, config.unpack_limit);
  };
  std::atomic<int64_t> not_utf8 = 0;
  const auto make = [&](const TextPart& part) {
    not_utf8 += bytes_not_utf8(part.text);
    PackedTokens tokens(tokenizer.size());
    tokens.append(tokenizer.encode_part(part.text, part.place));
    return tokens;
  };
  const auto take = [&](const PackedTokens& tokens) { text.tokens.append(tokens); };
  Parts::run(config.cut_threads, read, make, take);
  text.not_utf8 = not_utf8;
  return text;
}

}  // namespace penstock
