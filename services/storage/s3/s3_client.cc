// Send repeats SendAttempt, which signs and sends one request. ClassifyResponse then decides whether the response is
// returned, or whether the request is sent again: at once with other credentials, another clock or region, or without
// checksums; or after a delay. What a response says about the service is kept for later calls: the region and the
// checksums in traits_, the clock in clock_offset_seconds_, and the time since the last response in silence_.
#include "services/storage/s3/s3_client.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <utility>

#include "services/base/hash.h"
#include "services/base/parse_number.h"
#include "services/base/sha256.h"
#include "services/storage/s3/responses.h"
#include "services/telemetry/log.h"

namespace espalier::storage {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kResponseTime{20};                    // for a request with little or no body
constexpr uint64_t kSlowestBytesPerSecond = 128 << 10;  // determines the time limit of a transfer
constexpr seconds kStallTime{15};                       // the stall_timeout (http::SendOptions) of most requests
constexpr seconds kMinCallTime{5};                      // of a call to a service that has been silent for long
constexpr seconds kMaxRetryAfter{10};                   // longer values of Retry-After count as this
constexpr seconds kMaxClockSkew{15 * 60};               // that S3 accepts
constexpr int kMaxDamagedBodies = 3;                    // a body rejected this often with the same error is not resent
constexpr size_t kMaxExplanationBytes = 64 << 10;       // of the response to ExplainHeadError's request

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

// Returns the delay in the response's Retry-After, or zero. Dates are ignored.
milliseconds ParseRetryAfter(const http::Response& response) {
  const std::string* const text = response.Header("retry-after");
  if (text == nullptr) return milliseconds(0);
  const int64_t number = ParseNumber<int64_t>(*text).value_or(0);
  if (number < 0) return milliseconds(0);
  return std::min<milliseconds>(kMaxRetryAfter, seconds(std::min<int64_t>(number, kMaxRetryAfter.count())));
}

std::string HashBody(const S3Request& request) {
  Sha256 digest;
  digest.Update(request.body());
  return digest.HexDigest();
}

}  // namespace

// The state of one call, which its requests update.
struct S3Client::Progress {
  S3Request request;  // as sent: the call's request, possibly without checksums
  std::string payload_sha256;
  bool has_renewed = false;
  bool has_set_clock = false;
  bool has_switched_region = false;
  bool has_dropped_checksums = false;
  int num_rejected_responses = 0;  // by S3Call::check
  int num_damaged_bodies = 0;      // rejected in succession with the message last_refusal
  std::string last_refusal;
};

// The outcome of one request.
struct S3Client::Outcome {
  enum class Next { kReturn, kRetryNow, kRetryLater };
  Next next = Next::kReturn;
  Result<http::Response> result;
  milliseconds min_delay{0};
};

S3Client::S3Client(std::shared_ptr<http::Transport> transport, std::unique_ptr<CredentialSource> credentials,
                   S3ClientOptions options)
    : options_(std::move(options)),
      transport_(std::move(transport)),
      credentials_(std::move(credentials), options_.now),
      silence_(options_.retry_budget, std::min(kMinCallTime, options_.retry_budget)),
      traits_(options_.request_checksums, options_.response_checksums),
      jitter_seed_(options_.jitter_seed != 0 ? options_.jitter_seed : RandomSeed()) {}

Result<http::Response> S3Client::Send(const S3Bucket& bucket, const S3Call& call) {
  Progress progress{.request =
                        traits_.AcceptsChecksums(call.request.method) ? call.request : WithoutChecksums(call.request)};
  progress.payload_sha256 = HashBody(progress.request);
  Deadline end = Deadline::After(silence_.BudgetAt(options_.clock->Now()), *options_.clock);
  for (int attempt = 1;; ++attempt) {
    const SteadyTime began = options_.clock->Now();
    Outcome outcome = SendAttempt(bucket, call, end, progress);
    if (outcome.next == Outcome::Next::kReturn) return std::move(outcome.result);
    // A request that took longer than its stall_timeout has transferred bytes. Its time after the stall_timeout does
    // not count.
    const nanoseconds transfer = options_.clock->Now() - began - std::max(kStallTime, call.extra_time);
    if (transfer.count() > 0) end = Deadline::At(end.time() + transfer);
    const nanoseconds remaining = end.Remaining(*options_.clock);
    nanoseconds delay(0);
    if (outcome.next == Outcome::Next::kRetryLater) {
      // The last request is sent at the very end, so that the call waits for the service for the documented time.
      delay = std::min<nanoseconds>(DelayBefore(attempt, options_.retry, NextRandomWord()), remaining);
      delay = std::max<nanoseconds>(delay, outcome.min_delay);
    }
    const bool is_last = (call.max_attempts > 0 && attempt >= call.max_attempts) ||
                         progress.num_rejected_responses >= options_.retry.max_attempts;
    if (is_last || remaining.count() <= 0 || delay > remaining) return MakeFinalError(outcome.result.status(), attempt);
    if (delay.count() > 0) options_.clock->SleepFor(delay);
  }
}

Status S3Client::MakeFinalError(const Status& last, int num_requests) const {
  std::string text = "; gave up after " + std::to_string(num_requests) + (num_requests == 1 ? " request" : " requests");
  if (const auto silence = silence_.LengthAt(options_.clock->Now()); silence.has_value()) {
    text += ", no response for " + std::to_string(std::chrono::ceil<seconds>(*silence).count()) + " s";
  }
  return Status(last.code(), last.message() + text);
}

// Sends one request. `end` is the end of the call. The service has the remaining time to respond, but at most
// kResponseTime and at least ServiceSilence::shortest; call.extra_time and the time of the transfer are added to that.
S3Client::Outcome S3Client::SendAttempt(const S3Bucket& bucket, const S3Call& call, Deadline end, Progress& progress) {
  const seconds transfer_time(call.transfer_bytes / kSlowestBytesPerSecond);
  const nanoseconds remaining = std::max(end.Remaining(*options_.clock), silence_.shortest());
  const nanoseconds response_time = std::min<nanoseconds>(kResponseTime, remaining);
  const Deadline deadline = Deadline::After(response_time + call.extra_time + transfer_time, *options_.clock);
  const Result<Credentials> credentials = credentials_.Get(deadline);
  if (!credentials.ok()) {
    const bool is_transient = IsRetryable(credentials.status().code());
    return {is_transient ? Outcome::Next::kRetryLater : Outcome::Next::kReturn, credentials.status().While(call.doing)};
  }
  const S3Bucket located = traits_.Locate(bucket);
  const http::Request request = SignRequest(progress.request, located, *credentials, Now(), progress.payload_sha256);
  const http::SendOptions how{
      .deadline = deadline,
      .stall_timeout = std::max(std::min(kStallTime, std::chrono::ceil<seconds>(remaining)), call.extra_time),
      .max_body_bytes = call.max_body_bytes,
      .into = call.into};
  Result<http::Response> response = SendOnce(request, call.request.operation, how);
  if (response.ok()) {
    http::Response explained = ExplainHeadError(*std::move(response), located, call, *credentials, how);
    return ClassifyResponse(located, call, std::move(explained), *credentials, progress);
  }
  const bool is_transient = IsRetryable(response.status().code());
  return {is_transient ? Outcome::Next::kRetryLater : Outcome::Next::kReturn,
          std::move(response).status().While(call.doing)};
}

// Responses to HEAD have no body, so a missing bucket looks like a missing object, and a wrong region like an expired
// token. If the difference matters, requests one byte of the object, and returns the response to that request instead
// of `response` if it shows the cause.
http::Response S3Client::ExplainHeadError(http::Response response, const S3Bucket& bucket, const S3Call& call,
                                          const Credentials& credentials, const http::SendOptions& how) {
  if (call.request.method != "HEAD") return response;
  if (response.status != 400 && (response.status != 404 || traits_.IsKnownToExist(bucket.name))) return response;
  const S3Error error = ParseError(response);
  const bool is_explained = !error.code.empty() || (!error.region.empty() && error.region != bucket.region);
  if (is_explained) return response;
  const S3Request request = GetObjectRangeRequest(call.request.key, {0, 1}, "");
  const http::Request http = SignRequest(request, bucket, credentials, Now(), HashBody(request));
  http::SendOptions options = how;
  options.max_body_bytes = kMaxExplanationBytes;
  options.into = {};
  Result<http::Response> explained = SendOnce(http, request.operation, options);
  if (!explained.ok()) return response;
  const bool is_refusal = explained->status >= 300 && explained->status != 416;
  if (!is_refusal && !CheckSender(*explained, request).ok()) return *std::move(explained);
  if (is_refusal && (response.status == 400 || !IsAboutTheObject(ParseError(*explained)))) return *std::move(explained);
  if (explained->status < 500 && explained->status != 429) traits_.RecordExistence(bucket.name);
  return response;
}

Result<http::Response> S3Client::SendOnce(const http::Request& request, const std::string& operation,
                                          const http::SendOptions& options) {
  num_requests_.fetch_add(1, std::memory_order_relaxed);
  const Timer timer;
  const SteadyTime sent = options_.clock->Now();
  Result<http::Response> response = transport_->Send(request, options);
  if (response.ok()) response->method = request.method;
  UpdateSilence(response.status(), sent, options.stall_timeout);
  if (options_.metrics == nullptr) return response;
  RequestRecord record{.operation = operation,
                       .code = StatusCodeName(response.status().code()),
                       .seconds = timer.Seconds(),
                       .sent_bytes = request.body.size()};
  if (response.ok()) {
    record.code = std::to_string(response->status);
    record.received_bytes = response->body.size() + response->bytes_into;
  }
  options_.metrics->Record(record);
  return response;
}

void S3Client::UpdateSilence(const Status& status, SteadyTime sent, seconds stall_time) {
  const SteadyTime now = options_.clock->Now();
  if (status.ok()) return silence_.RecordResponse(now);
  // With other errors, a response did arrive.
  const bool is_silence = status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded;
  if (is_silence) silence_.RecordFailure(sent, now, stall_time);
}

S3Client::Outcome S3Client::ClassifyResponse(const S3Bucket& bucket, const S3Call& call, http::Response response,
                                             const Credentials& credentials, Progress& progress) {
  const auto& known = call.known_statuses;
  const bool is_known = std::find(known.begin(), known.end(), response.status) != known.end();
  if (is_known) {
    const S3Error error = ParseError(response);
    // A 501 may also concern another header, so its message must name checksums ("Checksum" or "checksum").
    const bool is_about_checksums = HasChecksums(progress.request) && IsRefusalOfChecksums(error) &&
                                    (response.status != 501 || error.message.find("hecksum") != std::string::npos);
    if (IsAboutTheObject(error) && !is_about_checksums) return {Outcome::Next::kReturn, std::move(response)};
  }
  if (response.status < 200 || response.status >= 300) {
    return ClassifyRefusal(bucket, call, response, credentials, progress);
  }
  if (Status sender = CheckSender(response, call.request); !sender.ok()) {
    return {Outcome::Next::kReturn, std::move(sender).While(bucket.Origin()).While(call.doing)};
  }
  RememberWorkingRequest(bucket, progress);
  Status checked = call.check ? call.check(response) : Status();
  if (checked.ok()) return {Outcome::Next::kReturn, std::move(response)};
  const bool is_transient = checked.code() == StatusCode::kDataLoss || IsRetryable(checked.code());
  ++progress.num_rejected_responses;
  return {is_transient ? Outcome::Next::kRetryLater : Outcome::Next::kReturn, std::move(checked).While(call.doing)};
}

S3Client::Outcome S3Client::ClassifyRefusal(const S3Bucket& bucket, const S3Call& call, const http::Response& response,
                                            const Credentials& credentials, Progress& progress) {
  S3Error error = ParseError(response);
  if (error.region == bucket.region) error.region.clear();  // then the region is not the cause
  const Status status = ToStatus(error, call.doing);
  if (SwitchRegion(bucket, error, progress)) return {Outcome::Next::kRetryNow, status};
  if (DropChecksums(error, progress)) return {Outcome::Next::kRetryNow, status};
  Remedy remedy = RemedyFor(error);
  // Responses to HEAD have no body that reports a wrong clock.
  if (remedy == Remedy::kRenew && error.code.empty() && IsClockWrong(response)) remedy = Remedy::kSetClock;
  switch (remedy) {
    case Remedy::kNone: break;
    case Remedy::kRetry: return {Outcome::Next::kRetryLater, status, ParseRetryAfter(response)};
    case Remedy::kResend: {
      const std::string refusal = error.code + error.message;
      progress.num_damaged_bodies = refusal == progress.last_refusal ? progress.num_damaged_bodies + 1 : 1;
      progress.last_refusal = refusal;
      if (progress.num_damaged_bodies < kMaxDamagedBodies) return {Outcome::Next::kRetryLater, status};
      const std::string advice = "; refused " + std::to_string(kMaxDamagedBodies) +
                                 " times with the same error: the service computes checksums differently, or a proxy "
                                 "changes the body";
      return {Outcome::Next::kReturn, Status(status.code(), status.message() + advice)};
    }
    case Remedy::kRenew:
      if (!std::exchange(progress.has_renewed, true) && credentials_.DiscardRejected(credentials.access_key_id)) {
        return {Outcome::Next::kRetryNow, status};
      }
      break;
    case Remedy::kSetClock:
      if (!std::exchange(progress.has_set_clock, true) && SetClockFrom(response)) {
        return {Outcome::Next::kRetryNow, status};
      }
      break;
  }
  return {Outcome::Next::kReturn, status};
}

bool S3Client::SwitchRegion(const S3Bucket& bucket, const S3Error& error, Progress& progress) {
  if (error.region.empty() || std::exchange(progress.has_switched_region, true)) return false;
  if (traits_.SetRegion(bucket.name, error.region)) {
    telemetry::Log(telemetry::Level::kWarning,
                   "the bucket is in another region, to which requests are sent now: set spec.storage.s3.region (or "
                   "AWS_REGION) to it",
                   {{"bucket", bucket.name}, {"region", error.region}, {"configured", bucket.region}});
  }
  return true;
}

bool S3Client::DropChecksums(const S3Error& error, Progress& progress) {
  if (!HasChecksums(progress.request) || !IsRefusalOfChecksums(error)) return false;
  progress.has_dropped_checksums = true;
  progress.request = WithoutChecksums(std::move(progress.request));
  progress.payload_sha256 = HashBody(progress.request);
  return true;
}

void S3Client::RememberWorkingRequest(const S3Bucket& bucket, const Progress& progress) {
  traits_.RecordExistence(bucket.name);
  if (!progress.has_dropped_checksums || !traits_.DisableChecksums(progress.request.method)) return;
  telemetry::Log(telemetry::Level::kInfo, "the service refuses x-amz-checksum headers; requests are sent without them",
                 {{"service", bucket.Origin()}, {"method", progress.request.method}});
}

bool S3Client::IsClockWrong(const http::Response& response) const {
  const std::string* const text = response.Header("date");
  const std::optional<WallTime> date = text == nullptr ? std::nullopt : ParseHttpDate(*text);
  return date && std::chrono::abs(*date - Now()) >= kMaxClockSkew;
}

bool S3Client::SetClockFrom(const http::Response& response) {
  const std::string* const text = response.Header("date");
  const std::optional<WallTime> date = text == nullptr ? std::nullopt : ParseHttpDate(*text);
  if (!date) return false;
  const auto offset = std::chrono::duration_cast<seconds>(*date - options_.now());
  clock_offset_seconds_.store(offset.count(), std::memory_order_relaxed);
  telemetry::Log(telemetry::Level::kWarning, "this machine's clock is wrong; signing with the service's time",
                 {{"offset_seconds", offset.count()}});
  return true;
}

WallTime S3Client::Now() const {
  return options_.now() + seconds(clock_offset_seconds_.load(std::memory_order_relaxed));
}

uint32_t S3Client::NextRandomWord() {
  const uint64_t number = num_random_words_.fetch_add(1, std::memory_order_relaxed);
  return static_cast<uint32_t>(HashCombine(jitter_seed_, number) >> 32);
}

std::string MakeWriterName() { return ToHex(RandomSeed()) + ToHex(RandomSeed()); }

}  // namespace espalier::storage
