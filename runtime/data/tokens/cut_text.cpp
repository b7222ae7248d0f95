#include "runtime/data/tokens/cut_text.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/data/tokens/in_order.h"
#include "runtime/data/tokens/text_file.h"

namespace penstock {
namespace {

constexpr size_t kLeastPartBytes = size_t{1} << 20;
constexpr size_t kMostPartBytes = size_t{256} << 20;

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_visible_ascii(char c) {
  return c > ' ' && c < '\x7f';
}

// Calls take() with one part of the text after the other. Each part but the last has
// kLeastPartBytes or more. A part ends where byte-level vocabularies cut anyway: behind a newline
// that stands between a visible character and a letter of ASCII. So the tokens of the parts are
// those of the whole text. Throws as read_pieces_of_file() does, and Error(Input) if a part would
// be longer than kMostPartBytes.
void for_each_text_part(const std::string& path,
                        const std::function<void(std::string_view part)>& take,
                        int64_t unpack_limit) {
  std::string text;
  size_t looked = 1;  // no part can end before this place
  const auto add = [&](std::string_view bytes) {
    text += bytes;
    size_t begin = 0;
    for (; looked + 1 < text.size(); ++looked) {
      const bool cuts = text[looked] == '\n' && is_visible_ascii(text[looked - 1]) &&
                        is_ascii_letter(text[looked + 1]);
      if (!cuts || looked + 1 - begin < kLeastPartBytes) continue;
      take(std::string_view(text).substr(begin, looked + 1 - begin));
      begin = looked + 1;
    }
    text.erase(0, begin);
    looked = std::max(looked - begin, size_t{1});
    if (text.size() > kMostPartBytes) {
      fail_input(path + " has " + std::to_string(text.size()) +
                 " bytes without a line that begins with a letter: divide it into lines");
    }
  };
  read_pieces_of_file(path, add, unpack_limit);
  if (!text.empty()) take(text);
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
    for_each_line(
        path, [&](std::string_view line) { give(std::string(line), line.size() + 1); },
        config.unpack_limit);
  };
  const auto make = [&](const std::string& line) {
    std::vector<int32_t> ids = vocabulary.encode(line);
    if (form == TextForm::Row && line_end) ids.push_back(*line_end);
    return ids;
  };
  const auto take = [&](const std::vector<int32_t>& ids) {
    text.tokens.append(ids);
    if (form == TextForm::Lines) end_line(text, path, "divide it into several language pairs");
  };
  Lines::run(config.cut_threads, read, make, take);
  return text;
}

CutText cut_as_it_is(const std::string& path, const DataConfig& config,
                     const Tokenizer& tokenizer) {
  CutText text{PackedTokens(tokenizer.size())};
  using Parts = InOrder<std::string, PackedTokens>;
  const auto read = [&](const Parts::Give& give) {
    for_each_text_part(
        path, [&](std::string_view part) { give(std::string(part), part.size()); },
        config.unpack_limit);
  };
  const auto make = [&](const std::string& part) {
    PackedTokens tokens(tokenizer.size());
    tokens.append(tokenizer.encode(part));
    return tokens;
  };
  const auto take = [&](const PackedTokens& tokens) { text.tokens.append(tokens); };
  Parts::run(config.cut_threads, read, make, take);
  return text;
}

}  // namespace penstock
