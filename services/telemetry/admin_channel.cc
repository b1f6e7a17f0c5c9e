#include "services/telemetry/admin_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace espalier::telemetry {
namespace {

class PlainChannel final : public AdminChannel {
 public:
  explicit PlainChannel(int descriptor) : descriptor_(descriptor) {}

  Transfer Receive(std::span<char> buffer) override {
    return ToTransfer(recv(descriptor_, buffer.data(), buffer.size(), 0), POLLIN);
  }
  Transfer Send(std::string_view bytes) override {
    return ToTransfer(send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL), POLLOUT);
  }
  void Finish() override {}

 private:
  static Transfer ToTransfer(ssize_t count, short poll_events) {
    if (count > 0) return {Transfer::State::kMoved, static_cast<size_t>(count), 0};
    const bool waits = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return {waits ? Transfer::State::kWaits : Transfer::State::kFinished, 0, poll_events};
  }

  const int descriptor_;
};

}  // namespace

std::unique_ptr<AdminChannel> MakePlainChannel(int descriptor) { return std::make_unique<PlainChannel>(descriptor); }

}  // namespace espalier::telemetry
