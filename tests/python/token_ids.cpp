// tests/python/token_ids.cpp -- the ids of texts by the tokenizer of a folder, for tests that
// compare them with those of other programs. `token_ids FOLDER < texts > ids`: of each text, on
// both sides, an i32 that says how many bytes or ids follow; on stderr what tokenizing alone took.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "runtime/data/tokenizer/hub/hub_tokenizer.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const auto tokenizer = penstock::open_hub_tokenizer(arguments[1]);
  double seconds = 0, bytes = 0;
  int32_t length = 0;
  while (std::fread(&length, sizeof length, 1, stdin) == 1) {
    std::string text(static_cast<size_t>(length), '\0');
    if (std::fread(text.data(), 1, text.size(), stdin) != text.size()) return 1;
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<int32_t> ids = tokenizer->encode_whole(text);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    bytes += static_cast<double>(text.size());
    length = static_cast<int32_t>(ids.size());
    std::fwrite(&length, sizeof length, 1, stdout);
    std::fwrite(ids.data(), sizeof(int32_t), ids.size(), stdout);
  }
  std::fprintf(stderr, "%.1f MB/s\n", bytes / 1e6 / seconds);
  return 0;
}
