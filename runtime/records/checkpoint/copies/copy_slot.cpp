#include "runtime/records/checkpoint/copies/copy_slot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/files/descriptor.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

void make_private_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) fs::permissions(path, fs::perms::owner_all, error);
  if (error) fail_resource("cannot make the folder " + path + ": " + error.message());
}

// Reserves all memory of the file now. Otherwise memory could run out when a page is first written
// to, and the system would end the process (SIGBUS).
void take_room(const Descriptor& file, const std::string& path, size_t size_bytes) {
  const int status = posix_fallocate(file.value(), 0, static_cast<off_t>(size_bytes));
  if (status == 0) return;
  std::error_code unknown;
  const fs::space_info space = fs::space(fs::path(path).parent_path(), unknown);
  std::error_code ignored;
  fs::remove(path, ignored);
  fail_resource("cannot take " + std::to_string(size_bytes) + " bytes for " + path + ": " +
                std::generic_category().message(status) +
                (unknown ? "" : " (" + std::to_string(space.available) + " are left)") +
                ": make room there, name another directory with --checkpoint.partner_dir, or leave "
                "--checkpoint.partner out");
}

}  // namespace

std::string copies_folder(const std::string& directory, const std::string& run) {
  return directory + "/penstock-" + run;
}

std::string copies_of_rank(const std::string& folder, int rank, int holder) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/rank-%05d-at-%05d", rank, holder);
  return folder + name.data();
}

CopySlot::CopySlot(std::string folder, std::string_view header, uint64_t data_bytes)
    : folder_(std::move(folder)), header_bytes_(header.size()), data_bytes_(data_bytes) {
  make_private_folder(folder_);
  forget();
  const std::string path = folder_ + "/" + kCopyFile;
  const Descriptor file(
      open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.value() < 0) fail_system("create", path);
  const size_t all_bytes = header_bytes_ + data_bytes_;
  take_room(file, path, all_bytes);
  void* memory = mmap(nullptr, all_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.value(), 0);
  if (memory == MAP_FAILED) fail_system("map", path);
  memory_ = static_cast<std::byte*>(memory);
  std::memcpy(memory_, header.data(), header_bytes_);
}

CopySlot::~CopySlot() {
  if (memory_ != nullptr) (void)munmap(memory_, header_bytes_ + data_bytes_);
}

CopySlot::CopySlot(CopySlot&& other) noexcept
    : folder_(std::move(other.folder_)),
      memory_(std::exchange(other.memory_, nullptr)),
      header_bytes_(other.header_bytes_),
      data_bytes_(other.data_bytes_) {}

void CopySlot::forget() const {
  std::error_code error;
  fs::remove(folder_ + "/" + kCopyDocument, error);
  if (error)
    fail_resource("cannot remove " + folder_ + "/" + kCopyDocument + ": " + error.message());
}

// Writes the document under another name and then renames it, so a reader sees all of it or
// nothing. Nothing is synced to a disk: a host that fails loses its memory anyway.
void CopySlot::complete(std::string_view document) const {
  const std::string path = folder_ + "/" + kCopyDocument;
  const std::string temporary = path + ".new";
  {
    const Descriptor file(
        open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (file.value() < 0) fail_system("create", temporary);
    write_all(file, document.data(), document.size(), temporary);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0)
    fail_system("rename " + temporary + " to", path);
}

}  // namespace penstock
