#include "runtime/data/tokens/foreign_file.h"

#include <array>

#include "kernels/error.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {
namespace {

using namespace std::string_view_literals;

struct ForeignKind {
  size_t at;  // where its mark stands
  std::string_view mark;
  const char* name;
  const char* cure;
};

constexpr const char* kTable =
    ", and plain text and lines of JSON are read: `datasets.load_dataset(...).to_json(...)` and "
    "pandas' `to_json(..., orient=\"records\", lines=True)` write them";
constexpr const char* kPacked = ": unpack it, and give the text that is in it";
constexpr const char* kTokens = ": data.kind = \"tokens\" reads it";
constexpr const char* kNoText = ", and plain text is read: write what is to be learnt as UTF-8";

constexpr std::array kKinds = {
    ForeignKind{0, "PAR1"sv, "a Parquet file", kTable},
    ForeignKind{0, "ARROW1"sv, "an Arrow file", kTable},
    ForeignKind{0, "SQLite format 3\0"sv, "an SQLite database", kTable},
    ForeignKind{0, "\x89HDF\r\n\x1A\n"sv, "an HDF5 file", kNoText},
    ForeignKind{0, "PK\3\4"sv, "a zip archive", kPacked},
    ForeignKind{0, "7z\xBC\xAF\x27\x1C"sv, "a 7z archive", kPacked},
    ForeignKind{0, "Rar!\x1A\7"sv, "a RAR archive", kPacked},
    ForeignKind{257, "ustar"sv, "a tar archive", kPacked},
    ForeignKind{0, "\x1F\x8B"sv, "compressed twice", kPacked},
    ForeignKind{0, "\x04\x22\x4D\x18"sv, "compressed by lz4", kPacked},
    ForeignKind{0, "\x93NUMPY"sv, "a file of numpy", kTokens},
    ForeignKind{0, "PSTOKENS"sv, "a file of tokens", kTokens},
    ForeignKind{0, "MMIDIDX\0"sv, "an index of Megatron's tokens", kTokens},
    ForeignKind{0, "GGUF"sv, "a GGUF file of weights", kNoText},
    ForeignKind{0, "%PDF-"sv, "a PDF document", kNoText},
};

// A safetensors file begins with the length of its JSON, in eight bytes.
bool is_safetensors(std::string_view beginning) {
  return beginning.size() > 9 && beginning.substr(5, 5) == "\0\0\0{\""sv;
}

}  // namespace

void refuse_foreign_file(std::string_view beginning, const std::string& path) {
  refuse_wide_text(beginning, path + ", line 1");
  for (const ForeignKind& kind : kKinds) {
    if (beginning.size() < kind.at || !beginning.substr(kind.at).starts_with(kind.mark)) continue;
    fail_data(path + " is " + kind.name + kind.cure);
  }
  if (is_safetensors(beginning)) fail_data(path + " is a safetensors file of weights" + kNoText);
}

}  // namespace penstock
