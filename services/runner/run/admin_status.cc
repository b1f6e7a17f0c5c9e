#include "services/runner/run/admin_status.h"

#include "services/http/get.h"

namespace espalier::run {
namespace {

constexpr size_t kMaxStatusBytes = size_t{1} << 20;
constexpr std::chrono::milliseconds kStatusTimeout{500};

}  // namespace

Result<std::string> FetchStatusAt(const std::string& admin_address) {
  return http::Get("http://" + admin_address + "/status", kMaxStatusBytes, Deadline::After(kStatusTimeout));
}

}  // namespace espalier::run
