#include "runtime/system/comm/watch/watch_mail.h"

#include <chrono>
#include <thread>
#include <type_traits>

#include "runtime/system/comm/mpi/mpi_check.h"

namespace penstock {
namespace {

constexpr const char* kMail = "asking another host's ranks what they do";
constexpr int kQuestion = 1;
constexpr int kAnswer = 2;
static_assert(std::is_trivially_copyable_v<RankView>);

}  // namespace

WatchMail::WatchMail(MPI_Comm world) {
  PENSTOCK_MPI(MPI_Comm_dup(world, comm_.address()), kMail);
  PENSTOCK_MPI(MPI_Comm_set_errhandler(comm_.get(), MPI_ERRORS_RETURN), kMail);
}

WatchMail::~WatchMail() {
  for (Letter& letter : letters_) {
    if (letter.request == MPI_REQUEST_NULL) continue;
    (void)MPI_Cancel(&letter.request);
    (void)MPI_Request_free(&letter.request);
  }
}

void WatchMail::post(Letter& letter, const void* data, size_t size_bytes, int to, int tag) {
  PENSTOCK_MPI(MPI_Isend(data, mpi_count(size_bytes, kMail), MPI_BYTE, to, tag, comm_.get(),
                         &letter.request),
               kMail);
}

void WatchMail::forget_sent() {
  letters_.remove_if([](Letter& letter) {
    int done = 0;
    return MPI_Test(&letter.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0;
  });
}

bool WatchMail::answer(const Look& look) {
  forget_sent();
  bool any = false;
  for (;;) {
    int there = 0;
    MPI_Status status;
    PENSTOCK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kQuestion, comm_.get(), &there, &status), kMail);
    if (there == 0) return any;
    any = true;
    int about = 0;
    PENSTOCK_MPI(
        MPI_Recv(&about, 1, MPI_INT, status.MPI_SOURCE, kQuestion, comm_.get(), MPI_STATUS_IGNORE),
        kMail);
    Letter& letter = letters_.emplace_back();
    letter.view = look(about);
    post(letter, &letter.view, sizeof(letter.view), status.MPI_SOURCE, kAnswer);
  }
}

size_t WatchMail::take_answers(std::map<int, RankView>& views) {
  for (size_t taken = 0;; ++taken) {
    int there = 0;
    MPI_Status status;
    PENSTOCK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, kAnswer, comm_.get(), &there, &status), kMail);
    if (there == 0) return taken;
    RankView view;
    PENSTOCK_MPI(MPI_Recv(&view, sizeof(view), MPI_BYTE, status.MPI_SOURCE, kAnswer, comm_.get(),
                          MPI_STATUS_IGNORE),
                 kMail);
    views[view.activity_log.rank] = view;
  }
}

void WatchMail::ask(std::span<const int> whom, std::span<const int> about, double limit_s,
                    const Look& look, std::map<int, RankView>& views) {
  const double end = activity_clock() + limit_s;
  for (size_t i = 0; i < whom.size(); ++i) {
    Letter& letter = letters_.emplace_back();
    letter.about = about[i];
    post(letter, &letter.about, sizeof(letter.about), whom[i], kQuestion);
  }
  for (size_t left = whom.size(); left > 0 && activity_clock() < end;) {
    (void)answer(look);
    left -= std::min(left, take_answers(views));
    if (left > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace penstock
