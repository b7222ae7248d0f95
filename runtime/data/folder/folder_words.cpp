#include "runtime/data/folder/folder_words.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "runtime/data/words/utf8.h"

namespace penstock {
namespace {

constexpr const char* kSpacePiece = "\xE2\x96\x81";

bool is_byte_level(const TokenizerJson& file) {
  return file.model.byte_level || std::ranges::any_of(file.joins, [](const JoinStep& step) {
           return step.kind == JoinStep::Kind::ByteLevel;
         });
}

struct Split {
  int32_t merged;
  size_t characters;  // of the left part
  std::string left, right;
};

// Every way to put a piece together from two others.
void add_splits(const std::string& piece, int32_t id,
                const std::unordered_map<std::string, int32_t>& ids, std::vector<Split>& splits) {
  size_t characters = 0;
  for (size_t at = 0; at < piece.size();) {
    at += utf8_at(piece, at).bytes;
    ++characters;
    const std::string left = piece.substr(0, at), right = piece.substr(std::min(at, piece.size()));
    if (ids.contains(left) && ids.contains(right)) splits.push_back({id, characters, left, right});
  }
}

int32_t next_id(const TokenizerJson& file) {
  auto next = static_cast<int32_t>(file.model.vocabulary.size());
  for (const AddedToken& token : file.added) next = std::max(next, token.id + 1);
  return next;
}

}  // namespace

bool is_cut_as_llama(const TokenizerJson& file, const FolderSettings& settings) {
  return settings.kind == "LlamaTokenizer" && settings.model_type != "mistral" &&
         file.model.kind == WordModelData::Kind::BytePairs && !is_byte_level(file);
}

void cut_as_llama(TokenizerJson& file, const FolderSettings& settings) {
  using Kind = JoinStep::Kind;
  const bool space = settings.add_prefix_space.value_or(true);
  const bool everywhere = settings.legacy.value_or(false);
  file.normal.clear();
  CutStep cut;
  cut.space = kSpacePiece;
  if (space) cut.put = everywhere ? CutStep::Put::Always : CutStep::Put::AtStart;
  file.cuts = {cut};
  file.joins = {{.kind = Kind::Replace, .from = kSpacePiece, .to = " "},
                {.kind = Kind::ByteFallback},
                {.kind = Kind::Fuse}};
  if (space) file.joins.push_back({.kind = Kind::Strip, .from = " ", .first = 1});
  file.model.byte_fallback = true;
  file.model.fuse_unknown = true;
  file.model.unknown.reset();
  file.model.ignore_merges = false;
}

TokenizerJson byte_pairs_of(const Pieces& pieces, const std::string& path) {
  TokenizerJson file;
  file.path = path;
  std::unordered_map<std::string, int32_t> ids;
  for (int32_t id = 0; id < pieces.size(); ++id) {
    const VocabularyPiece piece = pieces.at(id);
    ids.emplace(piece.text, id);
    file.model.vocabulary.emplace_back(piece.text, id);
    if (piece.control || piece.user_defined) {
      file.added.push_back({.id = id, .content = piece.text, .special = piece.control});
    }
  }
  std::vector<Split> splits;
  for (const auto& [text, id] : file.model.vocabulary) add_splits(text, id, ids, splits);
  std::ranges::stable_sort(splits, [](const Split& a, const Split& b) {
    return std::pair(a.merged, a.characters) < std::pair(b.merged, b.characters);
  });
  for (Split& split : splits) {
    file.model.merges.emplace_back(std::move(split.left), std::move(split.right));
  }
  return file;
}

void take_added_tokens(TokenizerJson& file, const FolderSettings& settings) {
  const auto added = [&](const std::string& content) {
    return std::ranges::find(file.added, content, &AddedToken::content);
  };
  for (const AddedToken& token : settings.added) {
    if (const auto found = added(token.content); found != file.added.end()) {
      const int32_t id = found->id;
      *found = token;
      found->id = id;
    } else {
      file.added.push_back(token);
    }
  }
  std::unordered_map<std::string_view, int32_t> words(file.model.vocabulary.begin(),
                                                      file.model.vocabulary.end());
  for (AddedToken token : settings.named) {
    if (const auto found = added(token.content); found != file.added.end()) {
      found->special = true;
      continue;
    }
    const auto word = words.find(token.content);
    const bool edge = token.content == settings.begin || token.content == settings.end ||
                      token.content == settings.padding;
    if (word == words.end() && edge) continue;  // who asks for its id says that there is none
    token.id = word == words.end() ? next_id(file) : word->second;
    file.added.push_back(std::move(token));
  }
}

}  // namespace penstock
