// tests/distributed/failing_program.cpp -- a job of which one rank ends badly, for failure_test.sh.
//
//   failing_program none|throw|unwind|kill
//
// The other ranks wait in a barrier. `throw` ends as launch/ does, with an abort while the session
// lives; `unwind` lets the exception pass through ~Session.
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>

#include "kernels/error.h"
#include "runtime/comm/mpi/session.h"
#include "runtime/comm/network.h"

namespace penstock {
namespace {

void work(const Session& session, const std::string& how) {
  const auto network = make_mpi_network(session, {.positions = session.ranks(), .replicas = 1});
  network->world().barrier();
  if (session.rank() == 1 && how == "kill") (void)std::raise(SIGKILL);
  if (session.rank() == 1 && how != "none") fail_resource("rank 1 has failed");
  network->world().barrier();
  if (session.rank() == 0) (void)std::printf("all %d ranks have ended well\n", session.ranks());
}

int run(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "none";
  const Session session(argc, argv);
  if (how == "unwind") {
    work(session, how);
    return 0;
  }
  try {
    work(session, how);
  } catch (const Error& error) {
    (void)std::fprintf(stderr, "penstock: error: %s\n", error.what());
    session.abort(error.exit_code());
  }
  return 0;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  try {
    return penstock::run(argc, argv);
  } catch (const penstock::Error& error) {
    (void)std::fprintf(stderr, "penstock: error: %s\n", error.what());
    return error.exit_code();
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "penstock: error: %s\n", error.what());
    return 1;
  }
}
