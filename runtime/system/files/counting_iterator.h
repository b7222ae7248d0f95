// runtime/system/files/counting_iterator.h -- CountingIterator: gives nlohmann-json the characters
// of a text and counts those that it has read, so that errors of ours, not only the library's, can
// name the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace penstock {

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, uint64_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  uint64_t* count_;
};

}  // namespace penstock
