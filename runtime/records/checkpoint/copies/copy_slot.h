// runtime/records/checkpoint/copies/copy_slot.h -- CopySlot: a file in a host's memory (/dev/shm)
// to which the state of one rank is copied after a step. It outlives the process, so that a run can
// go on from it after a rank has crashed.
//
// Two slots take turns, so that one always has a complete copy while the other is written:
//
//   <dir>/penstock-<run>/rank-00003-at-00001/   the state of rank 3, held on the host of rank 1
//     0/ copy.safetensors copy.json             of one step
//     1/ copy.safetensors copy.json             of the step copied before or after it
//     frozen/ copy.safetensors copy.json        parameters that no step changes, if there are some
//
// copy.json (copy_document.h) is there only while the file beside it is complete. The order of
// calls for each copy: forget(), write to data(), complete(). All memory is taken when a slot is
// made, so a later write cannot run out of room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

inline constexpr const char* kCopyFile = "copy.safetensors";
inline constexpr const char* kCopyDocument = "copy.json";

// The folder of all copies of a run on a host, "/dev/shm/penstock-0123456789abcdef": `directory` is
// "/dev/shm" (checkpoint.partner_dir), `run` the identity of the run.
[[nodiscard]] std::string copies_folder(const std::string& directory, const std::string& run);
// The folder of the slots with the state of `rank` on the host of the rank `holder`; `folder` is
// copies_folder().
[[nodiscard]] std::string copies_of_rank(const std::string& folder, int rank, int holder);

class CopySlot {
 public:
  // Makes `folder` (".../rank-00003-at-00001/0"), which only this user can read, and the file
  // copy.safetensors in it: `header` (CopyLayout::header), then `data_bytes` zero bytes. Throws
  // Error(Resource) naming the path, also where there is too little memory.
  CopySlot(std::string folder, std::string_view header, uint64_t data_bytes);
  ~CopySlot();  // leaves the file
  CopySlot(CopySlot&& other) noexcept;
  CopySlot& operator=(CopySlot&& other) = delete;

  // The file behind its header, mapped to memory: the caller writes the state there.
  [[nodiscard]] std::span<std::byte> data() const { return {memory_ + header_bytes_, data_bytes_}; }
  // Removes copy.json: must be called before data() is written to. Throws Error(Resource).
  void forget() const;
  // Writes copy.json with the text `document`: must be called when data() is complete. Throws
  // Error(Resource).
  void complete(std::string_view document) const;

 private:
  std::string folder_;
  std::byte* memory_ = nullptr;  // the whole file, mapped; null: moved from
  size_t header_bytes_, data_bytes_;
};

}  // namespace penstock
