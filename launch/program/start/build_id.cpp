// launch/program/start/build_id.cpp -- see build_id.h; the format is that of notes in elf(5).
#include "launch/program/start/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace penstock {
namespace {

constexpr std::string_view kOwner("GNU\0", 4);  // includes the zero that ends the name
constexpr size_t kAligned = 4;
size_t rounded_up(size_t bytes) {
  return (bytes + kAligned - 1) / kAligned * kAligned;
}

std::string id_in(std::string_view notes) {
  ElfW(Nhdr) header{};
  while (notes.size() >= sizeof header) {
    std::memcpy(&header, notes.data(), sizeof header);
    notes.remove_prefix(sizeof header);
    const size_t name = rounded_up(header.n_namesz);
    const size_t size = rounded_up(header.n_descsz);
    if (name > notes.size() || size > notes.size() - name) break;
    if (header.n_type == NT_GNU_BUILD_ID && notes.starts_with(kOwner)) {
      std::string id;
      for (const char c : notes.substr(name, header.n_descsz)) {
        id += fmt::format("{:02x}", static_cast<unsigned char>(c));
      }
      return id;
    }
    notes.remove_prefix(name + size);
  }
  return {};
}

std::string id_of(const dl_phdr_info& loaded) {
  for (int i = 0; i < loaded.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = loaded.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
    const char* begin = reinterpret_cast<const char*>(loaded.dlpi_addr + part.p_vaddr);
    std::string id = id_in({begin, part.p_memsz});
    if (!id.empty()) return id;
  }
  return {};
}

// Reads the id of the first loaded object, which is the program itself. Returns 1, so that the
// other objects are not visited.
int look_at_program(dl_phdr_info* loaded, size_t /*size*/, void* result) {
  *static_cast<std::string*>(result) = id_of(*loaded);
  return 1;
}

int look_for_kernels(dl_phdr_info* loaded, size_t /*size*/, void* result) {
  if (!std::string_view(loaded->dlpi_name).ends_with("/libpenstock_kernels.so")) return 0;
  *static_cast<std::string*>(result) = id_of(*loaded);
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  (void)dl_iterate_phdr(look_at_program, &id);
  return id;
}

std::string kernels_build_id() {
  std::string id;
  (void)dl_iterate_phdr(look_for_kernels, &id);
  return id;
}

}  // namespace penstock
