// runtime/data/tokens/bounded_tokens.h -- BoundedTokens: a row of token ids of which those that the
// network's vocabulary does not have are refused, with their place.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/data/tokens/token_source.h"

namespace penstock {

class BoundedTokens final : public TokenSource {
 public:
  // The tokens of `inner`; ids are to be below `vocabulary`, which messages call `whose`
  // ("model.vocabulary").
  BoundedTokens(std::shared_ptr<const TokenSource> inner, int64_t vocabulary, std::string whose);

  [[nodiscard]] const std::string& path() const override { return inner_->path(); }
  [[nodiscard]] int64_t size() const override { return inner_->size(); }
  [[nodiscard]] std::string unit() const override { return inner_->unit(); }
  [[nodiscard]] std::string place(int64_t index) const override { return inner_->place(index); }
  // Reads like TokenSource::read(). Throws Error(Data) naming the place and the id also for an id
  // that is `vocabulary` or more.
  void read(int64_t first, std::span<int32_t> out) const override;

  // Reads the tokens [begin, end) for nothing but these errors. It is work before the first step
  // (runtime/system/files/long_work.h), and throws as that does.
  void look(int64_t begin, int64_t end) const;

 private:
  std::shared_ptr<const TokenSource> inner_;
  int64_t vocabulary_;
  std::string whose_;
};

}  // namespace penstock
