#include "runtime/data/tokens/cut_text.h"

#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/in_order.h"
#include "runtime/data/text/text_file.h"
#include "runtime/data/text/vocabulary.h"
#include "runtime/data/tokens/text_parts.h"

namespace penstock {

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
