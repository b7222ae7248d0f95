// runtime/records/checkpoint/copies/copy_slot.h -- CopySlot: a file in a host's memory that holds
// what one rank keeps, of one step after another, and outlives the process that writes it.
//
//   <dir>/penstock-<run>/rank-00003-at-00001/   what rank 3 keeps, as rank 1 holds it
//     0/ copy.safetensors copy.json             of one step; the document is there only while the
//     1/ copy.safetensors copy.json             ... file is whole: it goes first and comes last
//     frozen/ ...                               what no step changes, where there is such
//
// All memory is taken when a slot is made, and the file is written through a memory map: no later
// write can run out of room. What is in a slot: copy_layout.h, copy_document.h.
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
// The slot's path below that folder for what `rank` keeps and `holder` holds.
[[nodiscard]] std::string copies_of_rank(const std::string& folder, int rank, int holder);

class CopySlot {
 public:
  // Makes the folder, for this user alone, and the file in it: `header`, then `data_bytes` of
  // zeros. Throws Error(Resource) naming the path, also where there is too little room.
  CopySlot(std::string folder, std::string_view header, uint64_t data_bytes);
  ~CopySlot();
  CopySlot(CopySlot&& other) noexcept;
  CopySlot& operator=(CopySlot&& other) = delete;

  [[nodiscard]] std::span<std::byte> data() const { return {memory_ + header_bytes_, data_bytes_}; }
  // Removes the document: what the file holds is not whole any more. Throws Error(Resource).
  void forget() const;
  // Writes `document`: the file is whole again. Throws Error(Resource).
  void complete(std::string_view document) const;

 private:
  std::string folder_;
  std::byte* memory_ = nullptr;
  size_t header_bytes_, data_bytes_;
};

}  // namespace penstock
