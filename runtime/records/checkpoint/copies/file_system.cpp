#include "runtime/records/checkpoint/copies/file_system.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>

#include "kernels/error.h"

namespace penstock {
namespace {

struct KnownKind {
  // This is the value of statfs.f_type. A number stands for a value that linux/magic.h lacks.
  uint32_t magic;
  const char* name;
};
constexpr std::array<KnownKind, 13> kOnDisk{{{EXT4_SUPER_MAGIC, "ext4"},
                                             {XFS_SUPER_MAGIC, "xfs"},
                                             {BTRFS_SUPER_MAGIC, "btrfs"},
                                             {OVERLAYFS_SUPER_MAGIC, "overlay"},
                                             {NFS_SUPER_MAGIC, "nfs"},
                                             {FUSE_SUPER_MAGIC, "fuse"},
                                             {CEPH_SUPER_MAGIC, "ceph"},
                                             {0x0bd00bd0, "lustre"},
                                             {0x47504653, "gpfs"},
                                             {0x19830326, "beegfs"},
                                             {0x2fc12fc1, "zfs"},
                                             {V9FS_MAGIC, "9p"},
                                             {CIFS_SUPER_MAGIC, "cifs"}}};

}  // namespace

FileSystem file_system_of(const std::string& directory) {
  struct statfs facts {};
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored) ||
      statfs(directory.c_str(), &facts) != 0) {
    fail_input("checkpoint.partner_dir: " + directory + " is no directory");
  }
  const auto magic = static_cast<uint32_t>(facts.f_type);
  if (magic == TMPFS_MAGIC) return {"tmpfs", true};
  if (magic == RAMFS_MAGIC) return {"ramfs", true};
  for (const KnownKind& kind : kOnDisk) {
    if (magic == kind.magic) return {kind.name, false};
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "unknown (0x%x)", magic);
  return {text.data(), false};
}

}  // namespace penstock
