#include "services/client/ring/ring_host_watch.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>

namespace espalier::client {
namespace {

// Fewer unanswered packets than this are ignored: a single packet can be lost although the host is running.
constexpr int kMinUnanswered = 2;

double Seconds(std::chrono::milliseconds duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Status RingHostWatch::Check(int descriptor) {
  if (last_check_.has_value() && last_check_->Seconds() < Seconds(interval())) return Status();
  last_check_.emplace();
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return Status();
  // The kernel resets tcpi_retransmits when the peer acknowledges new data, and tcpi_probes at any acknowledgment.
  if (std::max(info.tcpi_retransmits, info.tcpi_probes) < kMinUnanswered) {
    unanswered_.reset();
    return Status();
  }
  if (!unanswered_.has_value()) unanswered_.emplace();
  // Between two checks, the peer may have responded and new packets may have become unanswered. `unanswered_` then
  // began before the response, and the time since the last acknowledgment is the shorter and correct one.
  const double seconds = Seconds(std::chrono::milliseconds(info.tcpi_last_ack_recv));
  if (std::min(unanswered_->Seconds(), seconds) < Seconds(timeout_)) return Status();
  return Unavailable("its host has not answered for " + std::to_string(std::lround(seconds)) + " s");
}

}  // namespace espalier::client
