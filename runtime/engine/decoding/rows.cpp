#include "runtime/engine/decoding/rows.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/error.h"

namespace penstock {
namespace {

// put() appends the number of ids and then the ids to the text, four bytes each. take() reads them
// back from `at` on, and moves `at` behind them.
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

template <class Number>
void put(std::string& text, Number number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

template <class Number>
void take(Number& number, const std::string& text, size_t& at) {
  std::memcpy(&number, text.data() + at, sizeof(number));
  at += sizeof(number);
}

bool grew(const Row& before, const Row& now) {
  return before.text == now.text && !before.words.empty() &&
         before.words.size() + 1 == now.words.size() &&
         std::equal(before.words.begin(), before.words.end(), now.words.begin()) &&
         before.source == now.source;
}

}  // namespace

std::string encode(std::span<const Row> rows) {
  std::string text;
  for (const Row& row : rows) {
    put(text, row.source);
    put(text, row.words);
    put(text, row.draw);
    put(text, row.text);
    put(text, row.place);
  }
  return text;
}

std::vector<Row> decode(const std::string& text) {
  std::vector<Row> rows;
  for (size_t at = 0; at < text.size();) {
    Row& row = rows.emplace_back();
    row.source = take(text, at);
    row.words = take(text, at);
    take(row.draw, text, at);
    take(row.text, text, at);
    take(row.place, text, at);
  }
  return rows;
}

std::vector<Row> by_place(std::span<const Row> rows, int64_t places) {
  std::vector<Row> all(static_cast<size_t>(places));
  for (const Row& row : rows) {
    if (row.place < 0 || row.place >= places) fail_internal("a round of too many rows");
    Row& there = all[static_cast<size_t>(row.place)];
    if (!there.words.empty()) fail_internal("two rows of a round have the same place");
    there = row;
  }
  return all;
}

int64_t whole_positions(const Row& row, int64_t context) {
  constexpr size_t kFewest = 32;
  const size_t used = std::max({row.words.size(), row.source.size(), kFewest});
  return std::min(static_cast<int64_t>(std::bit_ceil(used)), context);
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
