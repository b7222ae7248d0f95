#include "fixtures.h"

#include <archive.h>
#include <archive_entry.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
//
#include <jpeglib.h>
#include <png.h>

namespace penstock::test {
namespace {

void require(bool ok, const char* what) {
  if (!ok) throw std::runtime_error(what);
}

std::string encode(int height, int width, int channels, const std::vector<uint8_t>& pixels,
                   bool as_ycck = false) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &data, &size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (channels == 4) jpeg_set_colorspace(&info, as_ycck ? JCS_YCCK : JCS_CMYK);
  jpeg_set_quality(&info, 100, TRUE);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(pixels.data()) +
                size_t{info.next_scanline} * static_cast<size_t>(width * channels);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string result(reinterpret_cast<const char*>(data), size);
  std::free(data);
  return result;
}

}  // namespace

void write_file(const std::string& path, const std::string& contents) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << contents;
  require(file.flush().good(), "write_file");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "read_file");
  return {std::istreambuf_iterator<char>(file), {}};
}

namespace {

void write_entries(const std::string& path, const Files& files, Compression compression,
                   int (*set_format)(archive*)) {
  const std::unique_ptr<archive, decltype(&archive_write_free)> out(archive_write_new(),
                                                                    &archive_write_free);
  if (compression == Compression::Gzip) {
    require(archive_write_add_filter_gzip(out.get()) == ARCHIVE_OK, "gzip");
  }
  if (compression == Compression::Zstd) {
    require(archive_write_add_filter_zstd(out.get()) == ARCHIVE_OK, "zstd");
  }
  if (compression == Compression::Bzip2) {
    require(archive_write_add_filter_bzip2(out.get()) == ARCHIVE_OK, "bzip2");
  }
  if (compression == Compression::Xz) {
    require(archive_write_add_filter_xz(out.get()) == ARCHIVE_OK, "xz");
  }
  require(set_format(out.get()) == ARCHIVE_OK, "format");
  if (set_format == archive_write_set_format_raw) {
    archive_write_set_bytes_in_last_block(out.get(), 1);  // no padding, as of a tape
  }
  require(archive_write_open_filename(out.get(), path.c_str()) == ARCHIVE_OK, "open");
  for (const auto& [name, contents] : files) {
    const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(),
                                                                              &archive_entry_free);
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(contents.size()));
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    require(archive_write_header(out.get(), entry.get()) == ARCHIVE_OK, "header");
    require(archive_write_data(out.get(), contents.data(), contents.size()) ==
                static_cast<la_ssize_t>(contents.size()),
            "data");
  }
  require(archive_write_close(out.get()) == ARCHIVE_OK, "close");
}

}  // namespace

void write_archive(const std::string& path, const Files& files, Compression compression) {
  write_entries(path, files, compression, archive_write_set_format_pax_restricted);
}

void write_compressed(const std::string& path, const std::string& contents,
                      Compression compression) {
  write_entries(path, {{"contents", contents}}, compression, archive_write_set_format_raw);
}

std::string noise_bytes(size_t n) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(mix(i));
  return bytes;
}

namespace {

size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// A number of kilobytes in /proc/self/status, in bytes.
size_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) << 10;
  }
  return 0;
}

}  // namespace

MemoryTaken memory_taken(const std::function<Datasets()>& open) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the peak so far
  const size_t before = status_bytes("VmRSS");
  const size_t heap_before = heap_in_use();
  const Datasets sets = open();
  const size_t heap = heap_in_use();
  const size_t peak = status_bytes("VmHWM");
  return {heap > heap_before ? heap - heap_before : 0, peak > before ? peak - before : 0};
}

std::string png(int height, int width, int channels, const std::vector<uint8_t>& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(height);
  image.width = static_cast<png_uint_32>(width);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_RGBA;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string result(size, '\0');
  require(png_image_write_to_memory(&image, result.data(), &size, 0, pixels.data(), 0, nullptr),
          "png");
  result.resize(size);
  return result;
}

namespace {

std::vector<uint8_t> repeated(int times, const std::vector<uint8_t>& colour) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < times; ++i) pixels.insert(pixels.end(), colour.begin(), colour.end());
  return pixels;
}

}  // namespace

std::string plain_jpeg(int height, int width, std::vector<uint8_t> colour) {
  return encode(height, width, static_cast<int>(colour.size()), repeated(height * width, colour));
}

std::string print_jpeg(int height, int width, std::vector<uint8_t> inks, bool as_ycck) {
  return encode(height, width, 4, repeated(height * width, inks), as_ycck);
}

std::string busy_jpeg(int height, int width) {
  std::vector<uint8_t> pixels;
  for (int i = 0; i < height * width * 3; ++i) pixels.push_back(static_cast<uint8_t>(mix(i)));
  return encode(height, width, 3, pixels);
}

TextSample read_text(const Dataset& set, int64_t index, uint64_t draw) {
  const auto context = static_cast<size_t>(set.fields()[0].shape.elements());
  TextSample sample{std::vector<int32_t>(context, -7), std::vector<int32_t>(context, -7)};
  const std::array<void*, 2> out = {sample.tokens.data(), sample.labels.data()};
  set.read(index, stream(draw), out);
  return sample;
}

PairSample read_pair(const Dataset& set, int64_t index, uint64_t draw) {
  const auto context = static_cast<size_t>(set.fields()[0].shape.elements());
  const std::vector<int32_t> empty(context, -7);
  PairSample sample{empty, empty, empty};
  const std::array<void*, 4> out = {sample.source.data(), &sample.source_length,
                                    sample.target.data(), sample.labels.data()};
  set.read(index, stream(draw), out);
  return sample;
}

std::vector<std::string> sentences(uint64_t language, int n, uint64_t longest) {
  const auto word = [language](uint64_t number) {
    std::string text;
    const uint64_t letters = mix(language * 7919 + number);
    for (uint64_t i = 0; i < 2 + letters % 4; ++i) {
      text += static_cast<char>('a' + (letters >> (8 * i + 8)) % 20);
    }
    return text;
  };
  std::vector<std::string> lines;
  for (int i = 0; i < n; ++i) {
    const auto seed = static_cast<uint64_t>(i) * 1009;
    std::string line;
    for (uint64_t w = 0; w < 1 + mix(seed) % longest; ++w) {
      line += (w > 0 ? " " : "") + word(mix(seed + w + 1) % 40);
    }
    lines.push_back(line + ".");
  }
  return lines;
}

std::string joined_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

ImageSample read_image(const Dataset& set, int64_t index, uint64_t draw) {
  ImageSample sample{std::vector<float>(static_cast<size_t>(set.fields()[0].shape.elements()))};
  const std::array<void*, 2> out = {sample.image.data(), &sample.label};
  set.read(index, stream(draw), out);
  return sample;
}

}  // namespace penstock::test
