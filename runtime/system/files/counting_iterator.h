// runtime/system/files/counting_iterator.h -- CountingIterator: an iterator over the characters of
// a text that counts how many were read.
//
// It is handed to the parser of nlohmann-json, which reads through it. When the code that handles
// the parsed values finds an error of its own, the count tells the byte at which the parser is, for
// the message (json.h, json_events.h).
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

  // `at`: the character it stands at; `count`: is increased at each step, shared by all copies, and
  // must outlive them.
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
