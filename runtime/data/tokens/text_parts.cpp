#include "runtime/data/tokens/text_parts.h"

#include <algorithm>

#include "kernels/error.h"
#include "runtime/data/text/text_file.h"

namespace penstock {
namespace {

bool is_ascii_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_visible_ascii(char c) {
  return c > ' ' && c < '\x7f';
}

}  // namespace

void for_each_text_part(const std::string& path,
                        const std::function<void(std::string_view part)>& take,
                        int64_t unpack_limit, size_t least_bytes, size_t most_bytes) {
  std::string text;
  size_t looked = 1;  // places before it are none
  const auto add = [&](std::string_view bytes) {
    text += bytes;
    size_t begin = 0;
    for (; looked + 1 < text.size(); ++looked) {
      const bool cuts = text[looked] == '\n' && is_visible_ascii(text[looked - 1]) &&
                        is_ascii_letter(text[looked + 1]);
      if (!cuts || looked + 1 - begin < least_bytes) continue;
      take(std::string_view(text).substr(begin, looked + 1 - begin));
      begin = looked + 1;
    }
    text.erase(0, begin);
    looked = std::max(looked - begin, size_t{1});
    if (text.size() > most_bytes) {
      fail_input(path + " has " + std::to_string(text.size()) +
                 " bytes without a line that begins with a letter: divide it into lines");
    }
  };
  read_pieces_of_file(path, add, unpack_limit);
  if (!text.empty()) take(text);
}

}  // namespace penstock
