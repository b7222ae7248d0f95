#include "runtime/data/tokens/shards/llmc_tokens.h"

#include <array>
#include <utility>

#include "runtime/data/tokens/shards/file_tokens.h"

namespace penstock {
namespace {

struct LlmcKind {
  uint64_t magic, version;
  size_t width;  // bytes of a token
};
constexpr std::array<LlmcKind, 2> kLlmcKinds = {{{20240520, 1, 2}, {20240801, 7, 4}}};
constexpr int64_t kLlmcHeader = int64_t{256} * 4;

const LlmcKind* llmc_kind(std::span<const uint8_t> first) {
  for (const LlmcKind& kind : kLlmcKinds) {
    if (unsigned_of(first.first(4)) == kind.magic) return &kind;
  }
  return nullptr;
}

}  // namespace

bool is_llmc(std::span<const uint8_t> first) {
  return llmc_kind(first) != nullptr;
}

std::shared_ptr<const TokenSource> open_llmc(std::shared_ptr<const InputFile> file) {
  const std::string& path = file->path();
  if (file->size_bytes() < kLlmcHeader) no_token_file(path, file->size_bytes(), "it is cut off");
  std::array<uint8_t, 12> header{};
  file->read(0, header);
  const std::span bytes(header);
  const LlmcKind* const kind = llmc_kind(bytes);
  if (kind == nullptr) no_token_file(path, 0, "it does not begin like one");
  const uint64_t version = unsigned_of(bytes.subspan(4, 4));
  if (version != kind->version) {
    no_token_file(
        path, 4,
        "of llm.c's files it is of version " + std::to_string(version) + ", which is not known");
  }
  const uint64_t size = unsigned_of(bytes.subspan(8, 4));
  check_room(*file, kLlmcHeader, size, kind->width, Room::Exactly);
  return std::make_shared<FileTokens>(std::move(file), kLlmcHeader, static_cast<int64_t>(size),
                                      NumberType{kind->width}, "token");
}

}  // namespace penstock
