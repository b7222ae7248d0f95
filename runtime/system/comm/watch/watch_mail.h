// runtime/system/comm/watch/watch_mail.h -- WatchMail: asks the watching threads of other hosts
// what their ranks do, and answers them, by MPI.
//
// Used by the watching threads only, on a communicator of their own: their messages meet none of
// the run's, and an answer comes while the main thread of that rank computes or is stuck. Sends are
// started and never waited for, so that a rank that is gone costs nobody more than the time limit.
#pragma once

#include <mpi.h>

#include <functional>
#include <list>
#include <map>
#include <span>
#include <vector>

#include "runtime/system/comm/handle.h"
#include "runtime/system/comm/watch/hang_report.h"

namespace penstock {

class WatchMail {
 public:
  using Look = std::function<RankView(int rank)>;  // what this host knows of one of its ranks

  // Collective over `world`, which is duplicated.
  explicit WatchMail(MPI_Comm world);
  ~WatchMail();
  WatchMail(const WatchMail&) = delete;
  WatchMail& operator=(const WatchMail&) = delete;

  // Answers what others have asked since the last call; returns whether any has.
  bool answer(const Look& look);
  // Asks the watching thread of world rank `whom[i]` about world rank `about[i]`, for every i,
  // waits at most `limit_s` seconds for all answers together, and adds each that has come to
  // `views` under the rank that it is about. Answers others meanwhile.
  void ask(std::span<const int> whom, std::span<const int> about, double limit_s, const Look& look,
           std::map<int, RankView>& views);

 private:
  struct Letter {
    int about = 0;
    RankView view;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void post(Letter& letter, const void* data, size_t size_bytes, int to, int tag);
  size_t take_answers(std::map<int, RankView>& views);
  void forget_sent();

  CommHandle comm_;
  std::list<Letter> letters_;  // being sent: addresses stay valid
};

}  // namespace penstock
