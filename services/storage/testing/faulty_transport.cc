#include "services/storage/testing/faulty_transport.h"

#include "services/base/hash.h"
#include "services/base/philox.h"

namespace espalier::storage {
namespace {

constexpr uint32_t kNumFaults = 10;

http::Response Refusal(int status, const std::string& code) {
  return {status, {}, "<Error><Code>" + code + "</Code><Message>an injected fault</Message></Error>"};
}

// Returns a name that is equal for equal requests. Upload IDs are not part of it, because they depend on the order in
// which uploads begin.
std::string ToString(const http::Request& request) {
  std::string name = request.method + ' ' + request.url.substr(0, request.url.find("uploadId="));
  for (const auto& [header, value] : request.headers) {
    if (header == "range") name += ' ' + value;
  }
  return name;
}

}  // namespace

int64_t FaultyTransport::num_requests() const {
  MutexLock lock(&mutex_);
  return num_requests_;
}

int64_t FaultyTransport::num_faults() const {
  MutexLock lock(&mutex_);
  return num_faults_;
}

FaultyTransport::Fault FaultyTransport::NextFault(const http::Request& request) {
  MutexLock lock(&mutex_);
  ++num_requests_;
  const std::string name = ToString(request);
  const auto words = Philox4x32(seed_, tries_[name]++, Hash64(name));
  if (BoundedDraw(words[0], 100) >= static_cast<uint32_t>(percent_)) return Fault::kNone;
  ++num_faults_;
  return static_cast<Fault>(1 + BoundedDraw(words[1], kNumFaults));
}

Result<http::Response> FaultyTransport::Send(const http::Request& request, const http::SendOptions& options) {
  const Fault fault = NextFault(request);
  switch (fault) {
    case Fault::kNone: return inner_.Send(request, options);
    case Fault::kUnavailable: return http::Response{503};
    case Fault::kTooMany: return http::Response{429, {{"retry-after", "1"}}};
    case Fault::kSlowDown: return Refusal(503, "SlowDown");
    case Fault::kInternal: return Refusal(500, "InternalError");
    case Fault::kTimeoutBefore: return DeadlineExceeded("no answer");
    case Fault::kTimeoutAfter:
    case Fault::kReset:
    case Fault::kCutShort:
    case Fault::kFlippedBit:
    case Fault::kErrorInside: break;
  }
  // The service processes the request; the remaining faults affect its response.
  Result<http::Response> response = inner_.Send(request, options);
  if (fault == Fault::kTimeoutAfter) return DeadlineExceeded("no response in time");
  const bool has_checksum = response.ok() && response->Header("x-amz-checksum-crc32") != nullptr;
  if (fault == Fault::kFlippedBit && has_checksum && !response->body.empty()) {
    response->body[response->body.size() / 2] ^= 4;
    return response;
  }
  if (fault == Fault::kCutShort && response.ok() && response->status == 206 && response->bytes_into > 1) {
    --response->bytes_into;
    return response;
  }
  const bool is_completion = request.method == "POST" && request.url.find("uploadId=") != std::string::npos;
  if (fault == Fault::kErrorInside && is_completion) return Refusal(200, "InternalError");
  return Unavailable("the connection was reset");
}

}  // namespace espalier::storage
