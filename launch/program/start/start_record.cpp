#include "launch/program/start/start_record.h"

#include <dnnl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>

#include "launch/commit.h"
#include "launch/program/processor/measured_speed.h"
#include "launch/version.h"
#include "runtime/system/comm/cuda_versions.h"

namespace penstock {
namespace {

constexpr std::array<std::string_view, 14> kFamilies = {
    "OMP_", "KMP_",   "GOMP_",  "ONEDNN_", "DNNL_", "OMPI_MCA_", "UCX_",
    "FI_",  "I_MPI_", "MPICH_", "NCCL_",   "CUDA_", "CUBLAS_",   "PENSTOCK_"};
constexpr std::array<std::string_view, 7> kSingle = {
    "LD_PRELOAD", "GLIBC_TUNABLES", "NVIDIA_TF32_OVERRIDE", "SLURM_JOB_ID",
    "PBS_JOBID",  "LSB_JOBID",      "FLUX_JOB_ID"};
// mpirun passes these to each of its ranks. They are not recorded, because they are of no use to
// anyone else.
constexpr std::array<std::string_view, 7> kOfLauncher = {
    "OMPI_MCA_orte_", "OMPI_MCA_ess",   "OMPI_MCA_initial_", "OMPI_MCA_pmix",
    "OMPI_MCA_plm",   "OMPI_MCA_shmem", "OMPI_MCA_schizo"};

std::map<std::string, std::string> recorded_environment() {
  std::map<std::string, std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t end = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, end);
    if (is_recorded(name)) all[name] = text.substr(std::min(end + 1, text.size()));
  }
  return all;
}

}  // namespace

bool is_recorded(const std::string& variable) {
  const auto begins = [&](std::string_view family) { return variable.starts_with(family); };
  if (std::ranges::any_of(kOfLauncher, begins)) return false;
  return std::ranges::any_of(kFamilies, begins) ||
         std::ranges::find(kSingle, variable) != kSingle.end();
}

std::string program_text() {
  std::string text = fmt::format("penstock {}", kVersion);
  if (!kCommit.empty()) text += fmt::format(" ({})", kCommit);
  return text;
}

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

StartRecord start_record(const Session& session, const std::vector<std::string>& arguments,
                         int hosts) {
  StartRecord record{.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))),
                     .command = {"penstock", "train"},
                     .program = program_text(),
                     .build = fmt::format("{}, {}", kCompiler, kBuildType),
                     .libraries = {Session::library_version(), "oneDNN " + onednn_version()},
                     .host = session.host(),
                     .processor = processor_name(),
                     .hosts = hosts,
                     .environment = recorded_environment()};
  if (!kBuiltWith.empty()) record.build += fmt::format(", with {}", kBuiltWith);
  record.command.insert(record.command.end(), arguments.begin(), arguments.end());
  const std::vector<std::string> cuda = cuda_library_versions();
  record.libraries.insert(record.libraries.end(), cuda.begin(), cuda.end());
  return record;
}

}  // namespace penstock
