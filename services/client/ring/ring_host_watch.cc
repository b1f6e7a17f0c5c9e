#include "services/client/ring/ring_host_watch.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>

namespace espalier::client {
namespace {

// One packet may be lost on the way to a host that is there.
constexpr int kFewUnanswered = 2;

double Seconds(std::chrono::milliseconds duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Status RingHostWatch::Check(int descriptor) {
  if (last_check_.has_value() && last_check_->Seconds() < Seconds(interval())) return Status();
  last_check_.emplace();
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return Status();
  // Both counts return to 0 with every packet of the peer's kernel.
  if (std::max(info.tcpi_retransmits, info.tcpi_probes) < kFewUnanswered) {
    unanswered_.reset();
    return Status();
  }
  if (!unanswered_.has_value()) unanswered_.emplace();
  // There may have been an answer, and new questions, between two checks.
  const double seconds = Seconds(std::chrono::milliseconds(info.tcpi_last_ack_recv));
  if (std::min(unanswered_->Seconds(), seconds) < Seconds(timeout_)) return Status();
  return Unavailable("its host has not answered for " + std::to_string(std::lround(seconds)) + " s");
}

}  // namespace espalier::client
