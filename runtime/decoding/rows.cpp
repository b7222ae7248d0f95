#include "runtime/decoding/rows.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

// Ids in a text and back: their number, then they, four bytes each.
void put(std::string& text, const std::vector<int32_t>& ids) {
  const auto size = static_cast<int32_t>(ids.size());
  text.append(reinterpret_cast<const char*>(&size), sizeof(size));
  text.append(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
}

std::vector<int32_t> take(const std::string& text, size_t& at) {
  int32_t size = 0;
  std::memcpy(&size, text.data() + at, sizeof(size));
  at += sizeof(size);
  std::vector<int32_t> ids(static_cast<size_t>(size));
  if (!ids.empty()) std::memcpy(ids.data(), text.data() + at, ids.size() * sizeof(int32_t));
  at += ids.size() * sizeof(int32_t);
  return ids;
}

bool grew(const Row& before, const Row& now) {
  return before.words.size() + 1 == now.words.size() &&
         std::equal(before.words.begin(), before.words.end(), now.words.begin()) &&
         before.source == now.source;
}

}  // namespace

std::string encode(std::span<const Row> rows) {
  std::string text;
  for (const Row& row : rows) {
    put(text, row.source);
    put(text, row.words);
    text.append(reinterpret_cast<const char*>(&row.draw), sizeof(row.draw));
  }
  return text;
}

std::vector<Row> decode(const std::string& text) {
  std::vector<Row> rows;
  for (size_t at = 0; at < text.size();) {
    Row& row = rows.emplace_back();
    row.source = take(text, at);
    row.words = take(text, at);
    std::memcpy(&row.draw, text.data() + at, sizeof(row.draw));
    at += sizeof(row.draw);
  }
  return rows;
}

std::vector<int64_t> origins(std::span<const Row> before, std::span<const Row> now,
                             int64_t per_replica) {
  std::vector<int64_t> found(now.size(), -1);
  const auto all = std::ssize(before);
  for (int64_t r = 0; r < std::ssize(now); ++r) {
    const Row& row = now[static_cast<size_t>(r)];
    const auto from = [&](int64_t b) { return grew(before[static_cast<size_t>(b)], row); };
    if (r < all && from(r)) {
      found[static_cast<size_t>(r)] = r;
      continue;
    }
    const int64_t first = r / per_replica * per_replica;
    const int64_t last = std::min(first + per_replica, all);
    for (int64_t b = first; b < last && found[static_cast<size_t>(r)] < 0; ++b) {
      if (from(b)) found[static_cast<size_t>(r)] = b;
    }
  }
  return found;
}

}  // namespace penstock
