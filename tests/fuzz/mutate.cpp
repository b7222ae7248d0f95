#include "mutate.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace penstock::fuzz {
namespace {

constexpr size_t kLongest = size_t{1} << 16;

class Mutator {
 public:
  Mutator(const FuzzTarget& target, const std::vector<std::string>& seeds, std::mt19937_64& random)
      : target_(target), seeds_(seeds), random_(random), bytes_(seed()) {}

  std::string result() {
    for (size_t changes = 1 + below(6); changes > 0; --changes) change();
    if (bytes_.size() > kLongest) bytes_.resize(kLongest);
    if (target_.repair != nullptr && below(4) > 0) target_.repair(bytes_);
    return std::move(bytes_);
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  size_t place() { return below(bytes_.size() + 1); }
  const std::string& seed() { return seeds_[below(seeds_.size())]; }

  std::string part_of(const std::string& whole) {
    const size_t at = below(whole.size() + 1);
    return whole.substr(at, below(std::min<size_t>(whole.size() - at, 4096) + 1));
  }

  // Numbers at the edges of types.
  uint64_t edge() {
    const uint64_t power = uint64_t{1} << below(64);
    const std::array<uint64_t, 6> edges = {0,         power - 1,    power,
                                           power + 1, ~uint64_t{0}, ~power + 1};
    return edges[below(edges.size())];
  }

  void change() {
    switch (below(10)) {
      case 0:
        if (!bytes_.empty()) bytes_[below(bytes_.size())] ^= static_cast<char>(1U << below(8));
        return;
      case 1:
        if (!bytes_.empty()) bytes_[below(bytes_.size())] = static_cast<char>(random_());
        return;
      case 2:
        return set_number();
      case 3:
        return set_digits();
      case 4:
        bytes_.resize(place());
        return;
      case 5:
        bytes_.erase(place(), below(64));
        return;
      case 6:
        bytes_.insert(place(), part_of(bytes_));
        return;
      case 7:
        bytes_.insert(place(), part_of(seed()));
        return;
      case 8:
        bytes_.insert(place(), below(32), static_cast<char>(random_()));
        return;
      default:
        if (!target_.words.empty()) {
          const std::string& word = target_.words[below(target_.words.size())];
          bytes_.replace(place(), below(2) * word.size(), word);
        }
    }
  }

  // A binary number of 1 to 8 bytes, of either byte order.
  void set_number() {
    const size_t width = size_t{1} << below(4);
    if (bytes_.size() < width) return;
    const size_t at = below(bytes_.size() - width + 1);
    const uint64_t value = edge();
    const bool big = below(2) > 0;
    for (size_t i = 0; i < width; ++i) {
      bytes_[at + i] = static_cast<char>(value >> (8 * (big ? width - 1 - i : i)));
    }
  }

  // A number in digits, if there is one after a random place.
  void set_digits() {
    const size_t at = bytes_.find_first_of("0123456789", place());
    if (at == std::string::npos) return;
    const size_t end = std::min(bytes_.find_first_not_of("0123456789", at), bytes_.size());
    const std::string sign = below(8) == 0 ? "-" : "";
    bytes_.replace(at, end - at, sign + std::to_string(edge()) + (below(8) == 0 ? "0000" : ""));
  }

  const FuzzTarget& target_;
  const std::vector<std::string>& seeds_;
  std::mt19937_64& random_;
  std::string bytes_;
};

}  // namespace

std::string mutated(const FuzzTarget& target, const std::vector<std::string>& seeds,
                    std::mt19937_64& random) {
  return Mutator(target, seeds, random).result();
}

}  // namespace penstock::fuzz
