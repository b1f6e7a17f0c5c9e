#include "services/rpc/forked.h"

#include <unistd.h>

#include <atomic>

namespace espalier::rpc {
namespace {

std::atomic<pid_t> first_user{0};  // the process that used gRPC first; 0: gRPC is not used yet

}  // namespace

void RecordUseOfGrpc() {
  pid_t none = 0;
  first_user.compare_exchange_strong(none, getpid());
}

Status CheckNotForked() {
  const pid_t user = first_user.load();
  if (user == 0 || user == getpid()) return Status();
  return FailedPrecondition(
      "this process was forked from one that was connected to servers, and gRPC does not support that: start it with "
      "exec or spawn (Python: multiprocessing.get_context('spawn')), or fork before the first connection");
}

}  // namespace espalier::rpc
