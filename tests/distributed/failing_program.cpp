// tests/distributed/failing_program.cpp -- a job of which one rank ends badly, for failure_test.sh.
//
//   failing_program none|throw|unwind|kill|hang|mail|late
//
// The other ranks wait in a barrier. In `hang` rank 1 is stopped by a signal while a watch is kept,
// in `mail` likewise, with every rank as if on a host of its own. `throw` ends as launch/ does,
// with an abort while the session lives and after many lines, of which launchers read the last
// ones late; `unwind` lets the exception pass through ~Session. In
// `late` all have stopped in good order, rank 0 comes last, and the others get the request to stop
// only now.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>

#include "kernels/error.h"
#include "runtime/system/comm/mpi/session.h"
#include "runtime/system/comm/network.h"

namespace penstock {
namespace {

constexpr std::chrono::milliseconds kLimit{300};

void say(const HangReport& report) {
  for (const std::string& line : report.lines) {
    (void)std::fprintf(stderr, "penstock: %s\n", line.c_str());
  }
  (void)std::fprintf(stderr, "penstock: error: %s\n", report.headline.c_str());
}

void work(const Session& session, const std::string& how) {
  const auto network = make_mpi_network(session, {.positions = session.ranks(), .replicas = 1});
  std::unique_ptr<Watch> watch;
  if (how == "hang" || how == "mail") {
    watch = std::make_unique<Watch>(
        session, WatchOrder{.limit = kLimit, .say = say, .by_mail = how == "mail"});
    watch->activity_log().settle();
    watch->activity_log().begin(
        {.activity = Activity::Forward, .stage = session.rank(), .micro_batch = 5});
  }
  network->world().barrier();
  if (session.rank() == 1 && watch != nullptr) (void)std::raise(SIGSTOP);
  if (session.rank() == 1 && how == "kill") (void)std::raise(SIGKILL);
  if (session.rank() == 1 && how != "none" && watch == nullptr) fail_resource("rank 1 has failed");
  network->world().barrier();
  // Only the end of the job leads out of a hang: mpirun wakes a stopped rank before it kills it,
  // and then all of them come past the barrier.
  while (watch != nullptr) (void)pause();
  if (session.rank() == 0) (void)std::printf("all %d ranks have ended well\n", session.ranks());
}

constexpr int kStopped = 75;

int end_late(const Session& session) {
  std::thread request;
  if (session.rank() == 0) {
    std::this_thread::sleep_for(std::chrono::seconds(1));
  } else {
    request = std::thread([] {
      std::this_thread::sleep_for(kLimit);
      (void)kill(getpid(), SIGTERM);
    });
  }
  session.end_together(kStopped);
  if (request.joinable()) request.join();  // where end_together() cannot end the job
  return kStopped;
}

int run(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "none";
  const Session session(argc, argv);
  if (how == "late") return end_late(session);
  if (how == "unwind") {
    work(session, how);
    return 0;
  }
  try {
    work(session, how);
  } catch (const Error& error) {
    for (int i = 0; i < 1000; ++i) (void)std::fprintf(stderr, "penstock: line %d before it\n", i);
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
