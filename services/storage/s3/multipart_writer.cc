// Write fills a buffer. When the buffer has the size of a part and more bytes follow, a thread uploads it. Before that,
// Write waits until fewer than PartSizes::MaxInFlight parts are being uploaded, which bounds the memory. An object that
// fits into one part is a single PUT at Commit. The CRC-32 of the object is combined from those of its parts. If a
// repeated request to complete the upload fails with 404, the writer's name in the object's metadata shows whether an
// earlier request has succeeded. A writer that is destroyed without a successful Commit aborts its upload.
#include "services/storage/s3/multipart_writer.h"

#include <zlib.h>

#include <algorithm>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "services/base/failpoint.h"
#include "services/storage/s3/responses.h"
#include "services/telemetry/log.h"

namespace espalier::storage {
namespace {

constexpr int kMaxParts = 10000;
constexpr uint64_t kMaxBytesInFlight = uint64_t{256} << 20;
// Extra time for completion, because services may copy all parts before they respond.
constexpr std::chrono::seconds kCompletionTime{60};

class S3Writer final : public ObjectWriter {
 public:
  S3Writer(std::shared_ptr<S3Client> client, S3Bucket bucket, std::string key, PartSizes part_sizes)
      : client_(std::move(client)),
        bucket_(std::move(bucket)),
        key_(std::move(key)),
        uri_("s3://" + bucket_.name + "/" + key_),
        part_sizes_(part_sizes) {}

  ~S3Writer() override {
    if (!is_committed_) Abort();
  }

  Status Write(std::span<const std::byte> bytes) override {
    if (is_committed_) return FailedPrecondition("writing " + uri_ + ": the object is already committed");
    while (failure_.ok() && !bytes.empty()) {
      const size_t part_bytes = part_sizes_.PartBytes(num_parts_ + 1);
      const size_t taken = std::min(bytes.size(), part_bytes - buffer_.size());
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
      bytes = bytes.subspan(taken);
      // A full part is sent only when more bytes follow, because an object of one part needs no multipart upload.
      if (buffer_.size() == part_bytes && !bytes.empty()) KeepError(StartPart());
    }
    return failure_;
  }

  Status Commit() override {
    if (is_committed_) return FailedPrecondition("committing " + uri_ + ": the object is already committed");
    if (failure_.ok()) KeepError(upload_id_.empty() ? PutObject() : CompleteUpload());
    is_committed_ = failure_.ok();
    return failure_;
  }

 private:
  // Keeps the first error; ignores OK.
  void KeepError(Status status) {
    if (failure_.ok()) failure_ = std::move(status);
  }

  Status PutObject() {
    RETURN_IF_ERROR(Failpoint("store.commit"));
    const S3Call call{
        .request = PutObjectRequest(key_, buffer_), .doing = "writing " + uri_, .transfer_bytes = buffer_.size()};
    return client_->Send(bucket_, call).status();
  }

  // Starts the upload of the buffer as the next part.
  Status StartPart() {
    if (num_parts_ == kMaxParts) {
      return InvalidArgument("writing " + uri_ + ": the object is larger than " + std::to_string(total_bytes_) +
                             " bytes, the size of " + std::to_string(kMaxParts) + " parts, which is the limit");
    }
    if (upload_id_.empty()) RETURN_IF_ERROR(BeginUpload());
    while (in_flight_.size() >= PartSizes::MaxInFlight(buffer_.size())) RETURN_IF_ERROR(FinishOldestPart());
    ++num_parts_;
    total_bytes_ += buffer_.size();
    // If the system cannot start a thread, the upload is deferred until the part is the oldest one in flight.
    const auto upload = [this, number = num_parts_,
                         bytes = std::make_shared<const std::vector<std::byte>>(std::exchange(buffer_, {}))] {
      return UploadPart(number, *bytes);
    };
    in_flight_.push_back(std::async(std::launch::async | std::launch::deferred, upload));
    return Status();
  }

  Status BeginUpload() {
    const S3Call call{.request = CreateMultipartUploadRequest(key_, writer_name_),
                      .doing = "starting to write " + uri_};
    ASSIGN_OR_RETURN(const http::Response response, client_->Send(bucket_, call));
    Result<std::string> id = ParseUploadId(response.body);
    if (!id.ok()) return std::move(id).status().While(call.doing);
    upload_id_ = *std::move(id);
    keeps_object_checksum_ = KeepsObjectChecksum(response);
    return Status();
  }

  struct SentPart {
    UploadedPart part;
    uint64_t size_bytes = 0;
  };

  // Runs in a separate thread; reads only members that are constant during uploads.
  Result<SentPart> UploadPart(int number, const std::vector<std::byte>& bytes) const {
    RETURN_IF_ERROR(Failpoint("store.put_part"));
    const S3Call call{.request = UploadPartRequest(key_, upload_id_, number, bytes),
                      .doing = "writing part " + std::to_string(number) + " of " + uri_,
                      .transfer_bytes = bytes.size(),
                      .check = [](const http::Response& response) { return ParseETag(response).status(); }};
    ASSIGN_OR_RETURN(const http::Response response, client_->Send(bucket_, call));
    ASSIGN_OR_RETURN(std::string etag, ParseETag(response));
    return SentPart{{number, std::move(etag), ComputeCrc32(bytes)}, bytes.size()};
  }

  Status FinishOldestPart() {
    std::future<Result<SentPart>> oldest = std::move(in_flight_.front());
    in_flight_.pop_front();
    ASSIGN_OR_RETURN(SentPart sent, oldest.get());
    crc32_ = static_cast<uint32_t>(crc32_combine(crc32_, sent.part.crc32, static_cast<z_off_t>(sent.size_bytes)));
    parts_.push_back(std::move(sent.part));
    return Status();
  }

  Status CompleteUpload() {
    if (!buffer_.empty()) RETURN_IF_ERROR(StartPart());
    while (!in_flight_.empty()) RETURN_IF_ERROR(FinishOldestPart());
    RETURN_IF_ERROR(Failpoint("store.commit"));
    const auto object_crc32 = keeps_object_checksum_ ? std::optional(crc32_) : std::nullopt;
    const S3Call call{.request = CompleteMultipartUploadRequest(key_, upload_id_, parts_, object_crc32),
                      .doing = "committing " + uri_,
                      .extra_time = kCompletionTime,
                      .known_statuses = {404},
                      .check = [this](const http::Response& response) { return CheckCompletion(response); }};
    ASSIGN_OR_RETURN(const http::Response response, client_->Send(bucket_, call));
    if (response.status != 404) return Status();
    // An earlier request may have succeeded although its response was lost. The object then has this writer's name.
    if (IsOurs()) return Status();
    return ToStatus(ParseError(response), call.doing);
  }

  Status CheckCompletion(const http::Response& response) const {
    if (IsCompletedUpload(response.body)) return Status();
    const S3Error error = ParseError(response);
    if (error.code.empty()) return DataLoss("completing the upload: the response has neither a result nor an error");
    return ToStatus(error, "completing the upload");
  }

  // Returns whether the object under the key has this writer's name.
  bool IsOurs() {
    const S3Call call{.request = HeadObjectRequest(key_), .doing = "requesting the attributes of " + uri_};
    const Result<http::Response> response = client_->Send(bucket_, call);
    const std::string* const writer = response.ok() ? response->Header(kWriterHeader) : nullptr;
    return writer != nullptr && *writer == writer_name_;
  }

  void Abort() {
    in_flight_.clear();  // waits for uploads that run in a thread
    if (upload_id_.empty()) return;
    // If the service has just been unreachable, the call sends one request and does not wait for the service again.
    const bool is_unreachable = IsRetryable(failure_.code());
    const S3Call call{.request = AbortMultipartUploadRequest(key_, upload_id_),
                      .doing = "aborting the upload of " + uri_,
                      .known_statuses = {404},
                      .max_attempts = is_unreachable ? 1 : 0};
    const Result<http::Response> response = client_->Send(bucket_, call);
    if (response.ok()) return;
    telemetry::Log(telemetry::Level::kWarning, "an unfinished upload stays in the bucket",
                   {{"object", uri_}, {"error", response.status()}});
  }

  const std::shared_ptr<S3Client> client_;
  const S3Bucket bucket_;
  const std::string key_;
  const std::string uri_;
  const PartSizes part_sizes_;
  const std::string writer_name_ = MakeWriterName();

  std::vector<std::byte> buffer_;       // the part being filled
  std::string upload_id_;               // "" before the first part; fixed while parts are in flight
  bool keeps_object_checksum_ = false;  // the service stores a checksum of the whole object
  int num_parts_ = 0;                   // parts whose upload has begun
  uint64_t total_bytes_ = 0;            // size of these parts
  std::vector<UploadedPart> parts_;     // the parts whose upload has finished, in order
  uint32_t crc32_ = 0;                  // of parts_
  Status failure_;                      // the first failure; never cleared
  bool is_committed_ = false;
  std::deque<std::future<Result<SentPart>>> in_flight_;  // in order; declared last: uploads use the other members
};

}  // namespace

uint64_t PartSizes::PartBytes(int number) const {
  // If first_bytes is 8 MiB: 1000 parts each of 8, 32, 128 and 256 MiB, and 6000 of 832 MiB, in total 5.16 TiB.
  if (number <= 1000) return first_bytes;
  if (number <= 2000) return first_bytes * 4;
  if (number <= 3000) return first_bytes * 16;
  if (number <= 4000) return first_bytes * 32;
  return first_bytes * 104;
}

size_t PartSizes::MaxInFlight(uint64_t part_bytes) {
  return static_cast<size_t>(std::clamp<uint64_t>(kMaxBytesInFlight / std::max<uint64_t>(part_bytes, 1), 1, 3));
}

std::unique_ptr<ObjectWriter> MakeS3Writer(std::shared_ptr<S3Client> client, S3Bucket bucket, std::string bucket_key,
                                           PartSizes part_sizes) {
  return std::make_unique<S3Writer>(std::move(client), std::move(bucket), std::move(bucket_key), part_sizes);
}

}  // namespace espalier::storage
