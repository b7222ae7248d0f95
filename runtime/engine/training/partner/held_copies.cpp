#include "runtime/engine/training/partner/held_copies.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace penstock {
namespace {

// Returns the sizes as text: first the four numbers as a line of JSON, then the two headers. The
// headers begin with bytes that are no text and so do not fit into JSON.
std::string packed_sizes(const CopySizes& sizes) {
  return nlohmann::json{sizes.header.size(), sizes.data_bytes, sizes.frozen_bytes,
                        sizes.document_bytes}
             .dump() +
         "\n" + sizes.header + sizes.frozen_header;
}

CopySizes unpacked_sizes(const std::string& text) {
  const size_t end = text.find('\n');
  const auto numbers = nlohmann::json::parse(text.substr(0, end));
  const auto header_bytes = numbers[0].get<size_t>();
  return {text.substr(end + 1, header_bytes), text.substr(end + 1 + header_bytes), numbers[1],
          numbers[2], numbers[3]};
}

void give_text(const std::string& text, int to, Collective& world) {
  const uint64_t size = text.size();
  world.give(std::as_bytes(std::span(&size, 1)), to);
  world.give(std::as_bytes(std::span(text)), to);
}

std::string take_text(int from, Collective& world) {
  uint64_t size = 0;
  world.take(std::as_writable_bytes(std::span(&size, 1)), from);
  std::string text(size, '\0');
  world.take(std::as_writable_bytes(std::span(text)), from);
  return text;
}

}  // namespace

std::vector<CopySizes> exchange_sizes(const CopySizes& mine, const std::vector<int>& partners,
                                      Collective& world) {
  std::vector<CopySizes> others;
  for (int rank = 0; rank < world.size(); ++rank) {
    const int partner = partners[static_cast<size_t>(rank)];
    if (partner < 0) continue;
    if (rank == world.rank()) give_text(packed_sizes(mine), partner, world);
    if (partner == world.rank()) others.push_back(unpacked_sizes(take_text(rank, world)));
  }
  return others;
}

HeldCopies::HeldCopies(int owner, const std::string& folder, const CopySizes& sizes)
    : owner_(owner), document_(sizes.document_bytes, ' ') {
  for (const char* version : {"/0", "/1"}) {
    slots_.emplace_back(folder + version, sizes.header, sizes.data_bytes);
  }
  if (sizes.has_frozen()) {
    slots_.emplace_back(folder + "/frozen", sizes.frozen_header, sizes.frozen_bytes);
  }
}

void HeldCopies::expect(size_t slot, Courier& courier) {
  const std::span<std::byte> all = data(slot);
  for (size_t at = 0; at < all.size(); at += kMessageBytes) {
    courier.receive(all.subspan(at, std::min(kMessageBytes, all.size() - at)), owner_);
  }
  courier.receive(std::as_writable_bytes(std::span(document_)), owner_);
}

void HeldCopies::keep(size_t slot) const {
  complete(slot, document_);
}

}  // namespace penstock
