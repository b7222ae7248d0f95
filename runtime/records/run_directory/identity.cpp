#include "runtime/records/run_directory/identity.h"

#include <fmt/format.h>

#include <filesystem>
#include <limits>
#include <random>

#include "kernels/error.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr uint64_t kIdentityFormat = 1;
constexpr int64_t kMostIdentityBytes = 1 << 16;

int64_t count_in(const nlohmann::json& parent, const char* key, const std::string& file) {
  constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(std::min(json_count(parent, key, file), kMost));
}

RunIdentity parse_identity(const std::string& text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  if (json_count(document, "format", file) != kIdentityFormat) {
    fail_data(file + " was written by another version of penstock: use that one, or a newer");
  }
  const nlohmann::json& data = json_object(document, "data", file);
  RunIdentity identity{.run = json_text(document, "run", file),
                       .attempts = count_in(document, "attempts", file),
                       .data = {.vocabulary = count_in(data, "vocabulary", file),
                                .classes = count_in(data, "classes", file),
                                .training_samples = count_in(data, "training_samples", file),
                                .validation_samples = count_in(data, "validation_samples", file)}};
  if (document.contains("length")) {  // files of older versions lack it
    const nlohmann::json& length = json_object(document, "length", file);
    identity.length = {count_in(length, "steps", file), count_in(length, "epochs", file)};
  }
  if (identity.run.empty()) fail_data(file + ": \"run\" is empty");
  return identity;
}

}  // namespace

std::string new_run() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::optional<RunIdentity> read_identity(const std::string& directory) {
  const std::string file = directory + "/" + kIdentityFile;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::nullopt;
  try {
    return parse_identity(read_text(file, kMostIdentityBytes, FileOwner::Run), file);
  } catch (const Error& refusal) {
    if (refusal.kind() != ErrorKind::Input) throw;
    fail_data(refusal.what());
  }
}

void write_identity(const std::string& directory, const RunIdentity& identity) {
  const nlohmann::ordered_json document = {
      {"format", kIdentityFormat},
      {"run", identity.run},
      {"attempts", identity.attempts},
      {"data",
       {{"vocabulary", identity.data.vocabulary},
        {"classes", identity.data.classes},
        {"training_samples", identity.data.training_samples},
        {"validation_samples", identity.data.validation_samples}}},
      {"length", {{"steps", identity.length.steps}, {"epochs", identity.length.epochs}}}};
  replace_file(directory + "/" + kIdentityFile, document.dump(2) + "\n");
}

}  // namespace penstock
