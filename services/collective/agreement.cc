#include "services/collective/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <system_error>

namespace espalier::collective {
namespace {

// What a rank says: its code, then its message, cut and padded with zeros.
constexpr size_t kStatementBytes = 1024;

std::array<std::byte, kStatementBytes> StatementOf(const Status& status) {
  std::array<std::byte, kStatementBytes> statement{};
  statement[0] = static_cast<std::byte>(status.code());
  std::memcpy(statement.data() + 1, status.message().data(), std::min(status.message().size(), kStatementBytes - 2));
  return statement;
}

bool IsKnownCode(int code) {
  return code > static_cast<int>(StatusCode::kOk) && code <= static_cast<int>(StatusCode::kUnauthenticated);
}

}  // namespace

Status AgreeOn(const Status& own, Collective& collective, std::chrono::nanoseconds timeout) {
  if (collective.size() == 1) return own;
  ASSIGN_OR_RETURN(const std::vector<std::byte> all, collective.AllGather(StatementOf(own), Deadline::After(timeout)));
  for (uint32_t rank = 0; rank < collective.size(); ++rank) {
    const std::byte* statement = all.data() + rank * kStatementBytes;
    const int code = std::to_integer<int>(statement[0]);
    if (code == static_cast<int>(StatusCode::kOk)) continue;
    const std::string message(reinterpret_cast<const char*>(statement + 1));
    return Status(IsKnownCode(code) ? static_cast<StatusCode>(code) : StatusCode::kUnknown,
                  "trainer " + std::to_string(rank) + ": " + message);
  }
  return Status();
}

Status WorkInSteps(Rank root, const std::function<Result<bool>()>& step, Collective& collective,
                   std::chrono::nanoseconds longest_step) {
  for (;;) {
    const Result<bool> goes_on = collective.rank() == root ? step() : Result<bool>(false);
    RETURN_IF_ERROR(AgreeOn(goes_on.status(), collective, longest_step));
    std::byte flag{static_cast<unsigned char>(*goes_on ? 1 : 0)};
    RETURN_IF_ERROR(collective.Broadcast(std::span(&flag, 1), root, Deadline::After(longest_step)));
    if (flag == std::byte{0}) return Status();
  }
}

Status WorkAside(Rank root, const std::function<Status()>& work, Collective& collective,
                 std::chrono::nanoseconds longest_step) {
  std::future<Status> done;
  const Status worked = WorkInSteps(
      root,
      [&]() -> Result<bool> {
        try {
          if (!done.valid()) done = std::async(std::launch::async, work);
        } catch (const std::system_error& error) {
          return ResourceExhausted(std::string("no thread: ") + error.what());
        }
        if (done.wait_for(longest_step / 60) != std::future_status::ready) return true;
        try {
          RETURN_IF_ERROR(done.get());
        } catch (const std::exception& error) {  // out of memory
          return ResourceExhausted(error.what());
        }
        return false;
      },
      collective, longest_step);
  // The group has failed, not the work, for whose end `done` waits; the others need not.
  if (!worked.ok() && done.valid()) collective.Abandon();
  return worked;
}

}  // namespace espalier::collective
