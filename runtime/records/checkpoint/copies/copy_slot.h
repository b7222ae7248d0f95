// runtime/records/checkpoint/copies/copy_slot.h -- CopySlot: a file in a host's memory that holds
// the state of one rank, of one step after another, and outlives the process that writes it.
//
//   <dir>/penstock-<run>/rank-00003-at-00001/   the state of rank 3, held on the host of rank 1
//     0/ copy.safetensors copy.json             of a step
//     1/ copy.safetensors copy.json             of the step before or after it
//     frozen/ copy.safetensors copy.json        what no step changes, if there is such state
//
// copy.json is there only while the file beside it is whole: it is removed before the file is
// written, and made again afterwards. All memory is taken when a slot is made, and the file is
// written through a memory map, so no later write can run out of room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

inline constexpr const char* kCopyFile = "copy.safetensors";
inline constexpr const char* kCopyDocument = "copy.json";

// "/dev/shm/penstock-0123456789abcdef", from the identity of a run.
[[nodiscard]] std::string copies_folder(const std::string& directory, const std::string& run);
// The folder, below copies_folder(), of the slots for the state of `rank` on the host of `holder`.
[[nodiscard]] std::string copies_of_rank(const std::string& folder, int rank, int holder);

class CopySlot {
 public:
  // Makes `folder`, for this user alone, and the file in it: `header`, then `data_bytes` zeros.
  // Throws Error(Resource) naming the path, also where there is too little room.
  CopySlot(std::string folder, std::string_view header, uint64_t data_bytes);
  ~CopySlot();
  CopySlot(CopySlot&& other) noexcept;
  CopySlot& operator=(CopySlot&& other) = delete;

  [[nodiscard]] std::span<std::byte> data() const { return {memory_ + header_bytes_, data_bytes_}; }
  // Removes the document, before data() is written to. Throws Error(Resource).
  void forget() const;
  // Writes `document`, once data() is whole again. Throws Error(Resource).
  void complete(std::string_view document) const;

 private:
  std::string folder_;
  std::byte* memory_ = nullptr;
  size_t header_bytes_, data_bytes_;
};

}  // namespace penstock
