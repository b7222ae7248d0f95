#include "runtime/data/tokens/bounded_tokens.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "runtime/system/files/long_work.h"

namespace penstock {

BoundedTokens::BoundedTokens(std::shared_ptr<const TokenSource> inner, int64_t vocabulary,
                             std::string whose)
    : inner_(std::move(inner)), vocabulary_(vocabulary), whose_(std::move(whose)) {}

void BoundedTokens::read(int64_t first, std::span<int32_t> out) const {
  inner_->read(first, out);
  const auto beyond = std::ranges::find_if(out, [this](int32_t id) { return id >= vocabulary_; });
  if (beyond == out.end()) return;
  fail_data(inner_->place(first + (beyond - out.begin())) + " is " + std::to_string(*beyond) +
            ", and ids are below " + whose_ + " = " + std::to_string(vocabulary_) +
            ": give the vocabulary that the data were made with as model.vocabulary, or leave out "
            "what is no part of the text");
}

void BoundedTokens::look(int64_t begin, int64_t end) const {
  constexpr int64_t kPiece = int64_t{1} << 16;
  LongWork work("looking at the ids of " + path(), 4 * (end - begin));
  std::vector<int32_t> piece;
  for (int64_t at = begin; at < end; at += kPiece) {
    piece.resize(static_cast<size_t>(std::min(kPiece, end - at)));
    read(at, piece);
    work.went_on(4 * std::ssize(piece));
  }
}

}  // namespace penstock
