// AgreeOn gathers a fixed-size record of every rank's status. WorkInSteps calls it after each step and then broadcasts
// whether another step follows. RunOnSideThread calls WorkInSteps with a step that starts the thread if necessary and
// waits until the thread ends, but at most a fraction of `longest_step`.
#include "services/collective/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <system_error>

namespace espalier::collective {
namespace {

// Size of an encoded status: one byte for its code, then the message, truncated and padded with zeros.
constexpr size_t kStatusBytes = 1024;

std::array<std::byte, kStatusBytes> EncodeStatus(const Status& status) {
  std::array<std::byte, kStatusBytes> encoded{};
  encoded[0] = static_cast<std::byte>(status.code());
  std::memcpy(encoded.data() + 1, status.message().data(), std::min(status.message().size(), kStatusBytes - 2));
  return encoded;
}

bool IsKnownCode(int code) {
  return code > static_cast<int>(StatusCode::kOk) && code <= static_cast<int>(StatusCode::kUnauthenticated);
}

}  // namespace

Status AgreeOn(const Status& own, Collective& collective, std::chrono::nanoseconds timeout) {
  if (collective.size() == 1) return own;
  ASSIGN_OR_RETURN(const std::vector<std::byte> all, collective.AllGather(EncodeStatus(own), Deadline::After(timeout)));
  for (uint32_t rank = 0; rank < collective.size(); ++rank) {
    const std::byte* encoded = all.data() + rank * kStatusBytes;
    const int code = std::to_integer<int>(encoded[0]);
    if (code == static_cast<int>(StatusCode::kOk)) continue;
    const std::string message(reinterpret_cast<const char*>(encoded + 1));
    return Status(IsKnownCode(code) ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
                  "trainer " + std::to_string(rank) + ": " + message);
  }
  return Status();
}

Status WorkInSteps(Rank root, const std::function<Result<bool>()>& step, Collective& collective,
                   std::chrono::nanoseconds longest_step) {
  for (;;) {
    const Result<bool> has_more = collective.rank() == root ? step() : Result<bool>(false);
    RETURN_IF_ERROR(AgreeOn(has_more.status(), collective, longest_step));
    std::byte flag{static_cast<unsigned char>(*has_more ? 1 : 0)};
    RETURN_IF_ERROR(collective.Broadcast(std::span(&flag, 1), root, Deadline::After(longest_step)));
    if (flag == std::byte{0}) return Status();
  }
}

Status RunOnSideThread(Rank root, const std::function<Status()>& work, Collective& collective,
                       std::chrono::nanoseconds longest_step) {
  std::future<Status> done;
  const Status worked = WorkInSteps(
      root,
      [&]() -> Result<bool> {
        try {
          if (!done.valid()) done = std::async(std::launch::async, work);
        } catch (const std::system_error& error) {
          return ResourceExhausted(std::string("cannot start a thread: ") + error.what());
        }
        if (done.wait_for(longest_step / 60) != std::future_status::ready) return true;
        try {
          RETURN_IF_ERROR(done.get());
        } catch (const std::exception& error) {  // such as std::bad_alloc
          return ResourceExhausted(error.what());
        }
        return false;
      },
      collective, longest_step);
  // The group has failed while the work still runs. The destructor of `done` waits for the work; after Abandon the
  // other ranks do not wait.
  if (!worked.ok() && done.valid()) collective.Abandon();
  return worked;
}

}  // namespace espalier::collective
