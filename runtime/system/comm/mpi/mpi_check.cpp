#include "runtime/system/comm/mpi/mpi_check.h"

#include <array>
#include <climits>

#include "kernels/error.h"

namespace penstock {

void fail_mpi(const char* call, int status, const std::string& context) {
  std::array<char, MPI_MAX_ERROR_STRING + 1> words{};
  int length = 0;
  if (MPI_Error_string(status, words.data(), &length) != MPI_SUCCESS) length = 0;
  const std::string text = call;
  fail_peer(context + ": " + text.substr(0, text.find('(')) + ": " +
            (length > 0 ? words.data() : "error " + std::to_string(status)));
}

int mpi_count(size_t n, const std::string& context) {
  if (n > INT_MAX) fail_internal(context + ": " + std::to_string(n) + " is too many for one call");
  return static_cast<int>(n);
}

}  // namespace penstock
