// Draw chooses the fault of a request with a counter-based random generator (Philox). Its input is the seed, the
// method, the path, and the number of earlier requests with the same method and path. So the faults depend on the seed
// alone, not on the order in which threads send requests.
#include "operator/client/testing/faulty_api_transport.h"

#include <vector>

#include "services/base/hash.h"
#include "services/base/philox.h"

namespace espalier::ctl::client {
namespace {

using kube::Json;

constexpr uint32_t kMaxLinesBeforeFault = 5;

HttpResponse Refusal(int code, const std::string& reason) { return ErrorAnswer(code, reason, "an injected fault"); }

HttpResponse RefusalForNow() {
  HttpResponse answer = Refusal(429, "TooManyRequests");
  answer.headers.emplace_back("Retry-After", "0");
  return answer;
}

HttpResponse AnswerOf(ApiFault fault) {
  switch (fault) {
    case ApiFault::kConflict: return Refusal(409, "Conflict");
    case ApiFault::kExpired: return Refusal(410, "Expired");
    case ApiFault::kTooMany: return RefusalForNow();
    case ApiFault::kInternal: return Refusal(500, "InternalError");
    default: return Refusal(503, "ServiceUnavailable");
  }
}

std::vector<ApiFault> FaultsOf(const kube::HttpRequest& request, bool is_stream) {
  std::vector<ApiFault> faults = {ApiFault::kTooMany, ApiFault::kInternal, ApiFault::kUnavailable, ApiFault::kNotSent};
  if (is_stream) {
    faults.insert(faults.end(), {ApiFault::kExpired, ApiFault::kBrokenStream, ApiFault::kEndedStream});
    return faults;
  }
  faults.insert(faults.end(), {ApiFault::kLostAnswer, ApiFault::kTwice});
  if (request.method == "PUT" || request.method == "PATCH" || request.method == "DELETE") {
    faults.push_back(ApiFault::kConflict);
  }
  if (request.target.find("continue=") != std::string::npos) faults.push_back(ApiFault::kExpired);
  return faults;
}

// Passes on `num_lines` lines, then ends with the given fault.
class EndingStream final : public LineStream {
 public:
  EndingStream(std::unique_ptr<LineStream> inner, uint32_t num_lines, ApiFault end)
      : inner_(std::move(inner)), lines_left_(num_lines), end_(end) {}

  Result<std::optional<std::string>> Next(Deadline deadline) override {
    if (lines_left_ == 0) {
      inner_->Cancel();
      if (end_ == ApiFault::kBrokenStream) return Unavailable("the connection broke");
      if (end_ == ApiFault::kExpired && !std::exchange(has_said_so_, true)) {
        return std::optional<std::string>("{\"type\":\"ERROR\",\"object\":" + Refusal(410, "Expired").body + "}");
      }
      return std::optional<std::string>();
    }
    Result<std::optional<std::string>> line = inner_->Next(deadline);
    if (line.ok() && line->has_value()) --lines_left_;
    return line;
  }
  void Cancel() override { inner_->Cancel(); }

 private:
  const std::unique_ptr<LineStream> inner_;
  uint32_t lines_left_;
  const ApiFault end_;
  bool has_said_so_ = false;
};

}  // namespace

bool IsWrite(const kube::HttpRequest& request) {
  return request.method != "GET" && request.target.find("dryRun=") == std::string::npos;
}

HttpResponse ErrorAnswer(int code, const std::string& reason, const std::string& message) {
  HttpResponse answer;
  answer.code = code;
  answer.headers.emplace_back("Content-Type", "application/json");
  answer.body = kube::Print({{"apiVersion", "v1"},
                             {"kind", "Status"},
                             {"status", "Failure"},
                             {"metadata", Json::object()},
                             {"code", code},
                             {"reason", reason},
                             {"message", message}});
  return answer;
}

void FaultyApiTransport::SetFaultOptions(FaultOptions options) {
  MutexLock lock(&mutex_);
  options_ = options;
}

int64_t FaultyApiTransport::num_faults() const {
  int64_t faults = 0;
  for (int fault = 1; fault < kNumApiFaults; ++fault) faults += Count(static_cast<ApiFault>(fault));
  return faults;
}

FaultyApiTransport::Drawn FaultyApiTransport::Draw(const kube::HttpRequest& request, bool is_stream) {
  const std::string name = request.method + ' ' + request.target.substr(0, request.target.find('?'));
  uint64_t attempt = 0;
  FaultOptions options;
  {
    MutexLock lock(&mutex_);
    attempt = tries_[name]++;
    options = options_;
  }
  const auto words = Philox4x32(options.seed, attempt, Hash64(name));
  Drawn drawn{ApiFault::kNone, words[2]};
  const int percent = is_stream ? options.percent_of_watches : options.percent_of_calls;
  if (BoundedDraw(words[0], 100) < static_cast<uint32_t>(percent)) {
    const std::vector<ApiFault> faults = FaultsOf(request, is_stream);
    drawn.fault = faults[BoundedDraw(words[1], static_cast<uint32_t>(faults.size()))];
  }
  counts_[static_cast<size_t>(drawn.fault)].fetch_add(1);
  return drawn;
}

Result<HttpResponse> FaultyApiTransport::Send(const kube::HttpRequest& request, Deadline deadline,
                                              std::stop_token stop) {
  ++num_calls_;
  if (fault_) {
    if (auto answer = fault_(request, nullptr)) return *std::move(answer);
  }
  Result<HttpResponse> response = SendWithFaults(request, deadline, std::move(stop));
  if (response.ok() && IsWrite(request) && response->code / 100 == 2) ++num_writes_;
  if (fault_ && response.ok()) {
    if (auto answer = fault_(request, &*response)) return *std::move(answer);
  }
  return response;
}

Result<HttpResponse> FaultyApiTransport::SendWithFaults(const kube::HttpRequest& request, Deadline deadline,
                                                        std::stop_token stop) {
  const ApiFault fault = Draw(request, /*is_stream=*/false).fault;
  switch (fault) {
    case ApiFault::kNone: return inner_.Send(request, deadline, stop);
    case ApiFault::kNotSent: return FailedPrecondition("not connected");
    case ApiFault::kLostAnswer: {
      const Result<HttpResponse> lost = inner_.Send(request, deadline, stop);
      return Unavailable(lost.ok() ? "the connection broke" : lost.status().message());
    }
    case ApiFault::kTwice: {
      const Result<HttpResponse> first = inner_.Send(request, deadline, stop);
      return first.ok() ? inner_.Send(request, deadline, stop) : first;
    }
    default: return AnswerOf(fault);
  }
}

Result<HttpTransport::Stream> FaultyApiTransport::Open(const kube::HttpRequest& request, Deadline deadline,
                                                       std::stop_token stop) {
  const Drawn drawn = Draw(request, /*is_stream=*/true);
  const bool ends = drawn.fault == ApiFault::kBrokenStream || drawn.fault == ApiFault::kEndedStream ||
                    drawn.fault == ApiFault::kExpired;
  if (drawn.fault == ApiFault::kNotSent) return FailedPrecondition("not connected");
  if (drawn.fault != ApiFault::kNone && !ends) return Stream{AnswerOf(drawn.fault), nullptr};
  ASSIGN_OR_RETURN(Stream stream, inner_.Open(request, deadline, stop));
  if (ends && stream.lines != nullptr) {
    const uint32_t num_lines = drawn.fault == ApiFault::kExpired ? 0 : BoundedDraw(drawn.word, kMaxLinesBeforeFault);
    stream.lines = std::make_unique<EndingStream>(std::move(stream.lines), num_lines, drawn.fault);
  }
  return stream;
}

}  // namespace espalier::ctl::client
