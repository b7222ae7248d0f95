#include "runtime/data/tokenizer/steps/pre_tokenizer.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

// Holds the bytes [begin, end) of a piece of text, and whether this part counts as a match.
struct Part {
  size_t begin = 0, end = 0;
  bool match = false;
};

// Returns the matches in the piece and the parts between the matches, in order. If `invert`, the
// parts between count as matches, and the matches of the expression do not.
std::vector<Part> parts_of(std::string_view piece, const Expression& expression, bool invert) {
  std::vector<Part> parts;
  size_t done = 0;
  const auto between = [&](size_t end) {
    if (done < end) parts.push_back({done, end, invert});
  };
  expression.for_each_match(piece, [&](size_t begin, size_t end) {
    between(begin);
    parts.push_back({begin, end, !invert});
    done = end;
  });
  between(piece.size());
  return parts;
}

// Returns whether the second of two neighbouring parts is joined to the first.
bool belong_together(const Part& first, const Part& second, PreTokenizerStep::Behavior behavior) {
  using Behavior = PreTokenizerStep::Behavior;
  switch (behavior) {
    case Behavior::Isolated:
    case Behavior::Removed:
      return false;
    case Behavior::MergedWithPrevious:
      return second.match && !first.match;
    case Behavior::MergedWithNext:
      return first.match && !second.match;
    case Behavior::Contiguous:
      return first.match == second.match;
  }
  return false;
}

std::string replace_spaces(std::string_view piece, const std::string& by) {
  std::string out;
  for (const char c : piece) {
    if (c == ' ') {
      out += by;
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

PreTokenizer::PreTokenizer(std::vector<PreTokenizerStep> steps, const std::string& where) {
  for (PreTokenizerStep& how : steps) {
    Step step{std::move(how), std::nullopt};
    if (!step.how.pattern.text.empty()) step.expression.emplace(step.how.pattern, where);
    steps_.push_back(std::move(step));
  }
}

void PreTokenizer::for_each_word(std::string_view text, Start start, const Take& take) const {
  cut(text, start, 0, take);
}

void PreTokenizer::cut(std::string_view piece, Start start, size_t step, const Take& take) const {
  if (piece.empty()) return;
  if (step == steps_.size()) return take(piece);
  const auto& [how, expression] = steps_[step];
  std::string changed;
  if (!how.space.empty()) piece = changed = replace_spaces(piece, how.space);
  const std::string_view space = how.space.empty() ? " " : std::string_view(how.space);
  const bool put = (how.put == PreTokenizerStep::Put::Always && start != Start::Nothing) ||
                   (how.put == PreTokenizerStep::Put::AtStart && start == Start::Text);
  if (put && !piece.starts_with(space)) {
    changed = std::string(space) + std::string(piece);
    piece = changed;
  }
  if (!expression) return cut(piece, start, step + 1, take);
  const std::vector<Part> parts = parts_of(piece, *expression, how.invert);
  for (size_t first = 0; first < parts.size();) {
    size_t end = first + 1;
    while (end < parts.size() && belong_together(parts[end - 1], parts[end], how.behavior)) ++end;
    const size_t begin = parts[first].begin;
    const bool kept = how.behavior != PreTokenizerStep::Behavior::Removed || !parts[first].match;
    if (kept) {
      const bool first_of_text = start == Start::Text && begin == 0;
      cut(piece.substr(begin, parts[end - 1].end - begin),
          first_of_text ? Start::Text : Start::Stretch, step + 1, take);
    }
    first = end;
  }
}

}  // namespace penstock
