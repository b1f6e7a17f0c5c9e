// Fuzzes the bodies of error responses. The first byte selects the HTTP code, 300 to 555.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "operator/kube/api_error.h"
#include "services/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace espalier::ctl::kube;  // NOLINT: one function
  if (size == 0) return 0;
  const int code = 300 + data[0];
  const ApiError error = ParseApiError(code, {reinterpret_cast<const char*>(data) + 1, size - 1});
  ESPALIER_CHECK(error.message.size() < 4096 + 16 && error.reason.size() < 4096 + 16 && error.causes.size() <= 32);
  ESPALIER_CHECK(code < 400 || error.code == code);
  const espalier::Status status = ToStatus(error);
  ESPALIER_CHECK(!status.ok() && !status.message().empty());
  return 0;
}
