#include "runtime/data/datasets/images/decoding/file_kind.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "runtime/data/datasets/images/decoding/pixels.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/stand_in.h"

namespace penstock {
namespace {

using namespace std::string_view_literals;

struct FileKind {
  size_t at;  // where its mark stands
  std::string_view mark;
  const char* name;
};

constexpr std::array kKinds = {
    FileKind{8, "WEBP"sv, "a WebP image"},
    FileKind{0, "GIF8"sv, "a GIF image"},
    FileKind{0, "II*\0"sv, "a TIFF image"},
    FileKind{0, "MM\0*"sv, "a TIFF image"},
    FileKind{0, "BM"sv, "a BMP image"},
    FileKind{4, "ftypavif"sv, "an AVIF image"},
    FileKind{4, "ftypavis"sv, "an AVIF image"},
    FileKind{4, "ftyphei"sv, "a HEIC image"},
    FileKind{4, "ftypmif1"sv, "a HEIC image"},
    FileKind{4, "ftyp"sv, "a video"},
    FileKind{4, "jP  \r\n"sv, "a JPEG 2000 image"},
    FileKind{0, "\xFF\x0A"sv, "a JPEG XL image"},
    FileKind{4, "JXL \r\n"sv, "a JPEG XL image"},
    FileKind{0, "\0\0\1\0"sv, "an icon"},
    FileKind{0, "8BPS"sv, "a Photoshop document"},
    FileKind{0, "%PDF"sv, "a PDF document"},
    FileKind{0, "<svg"sv, "an SVG drawing"},
    FileKind{0, "<?xml"sv, "an XML document, such as a drawing"},
    FileKind{0, "PK\3\4"sv, "a zip archive"},
    FileKind{0, "\x1F\x8B"sv, "compressed by gzip"},
    FileKind{0, "\0\5\x16\7"sv, "what macOS keeps beside a file"},
};

}  // namespace

bool is_jpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
}

void refuse_other_kind(std::span<const uint8_t> bytes, const std::string& name) {
  constexpr size_t kMostBytes = 64;
  const std::string_view beginning(reinterpret_cast<const char*>(bytes.data()),
                                   std::min(bytes.size(), std::max(kMostBytes, kStandInBytes)));
  if (beginning.empty()) fail_data(name + " is empty: remove it, or fetch it again");
  refuse_stand_in(beginning, name);
  for (const FileKind& kind : kKinds) {
    if (beginning.size() < kind.at || !beginning.substr(kind.at).starts_with(kind.mark)) continue;
    fail_data(name + " is " + kind.name + ", and JPEG and PNG are read: convert it");
  }
  if (beginning.find_first_not_of('\0') == std::string_view::npos) {
    fail_data(name + " begins with nothing but zeros: it is damaged; fetch it again or remove it");
  }
  fail_data(name + " is no image that is known, and JPEG and PNG are read: convert or remove it");
}

void refuse_no_tar(const std::string& path) {
  constexpr int64_t kMarkBytes = 8;
  const InputFile file(path);
  std::vector<uint8_t> bytes(static_cast<size_t>(std::min(kMarkBytes, file.size_bytes())));
  file.read(0, bytes);
  const std::string_view mark(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const auto& [begins, name] :
       {std::pair("PK\3\4"sv, "a zip archive"), std::pair("7z\xBC\xAF"sv, "a 7z archive"),
        std::pair("Rar!"sv, "a RAR archive")}) {
    if (!mark.starts_with(begins)) continue;
    fail_input(path + " is " + name +
               ", and folders and tar archives are read: unpack it, and give the folder");
  }
  if (is_jpeg(bytes) || is_png(bytes)) {
    fail_input(path + " is one image: give the folder above the class folders");
  }
}

}  // namespace penstock
