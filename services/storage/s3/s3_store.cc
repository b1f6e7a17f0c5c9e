// S3Client sends and retries the requests. S3Store checks the responses and handles services that lack conditional
// writes (PutWithoutCondition) or the deletion of several objects in one request (DeleteBatch). Large ranges are read
// in pieces; if the object has a strong ETag, all pieces are of one version of the object. PutIfAbsent stores a random
// writer name with the object: if the response was lost and the write is repeated, the name tells whether the existing
// object is the writer's own or that of another writer.
#include "services/storage/s3/s3_store.h"

#include <algorithm>
#include <utility>

#include "services/base/check.h"
#include "services/base/failpoint.h"
#include "services/storage/object_key.h"
#include "services/storage/s3/responses.h"

namespace espalier::storage {
namespace {

constexpr size_t kMaxGetBytes = size_t{16} << 30;
constexpr uint64_t kUnknownTransferBytes = uint64_t{256} << 20;  // assumed for an object of unknown size
constexpr uint64_t kMaxPieceBytes = uint64_t{64} << 20;  // of one request; read again if the connection is reset
constexpr size_t kMaxListingBytes = size_t{16} << 20;    // of one page
constexpr size_t kMaxKeysPerDelete = 1000;
constexpr int kMaxEmptyPages = 1000;  // in succession, in a listing

// Returns whether the object, whose HEAD response is `head`, was written by `writer`.
bool IsWrittenBy(const http::Response& head, const std::string& writer) {
  const std::string* const found = head.Header(kWriterHeader);
  return found != nullptr && *found == writer;
}

// Checks the response to the request for the piece `range`. Accepts a shorter piece if the object ends within `range`.
Status CheckPiece(const http::Response& response, ByteRange range) {
  if (response.status != 206)
    return Unimplemented("the service ignores the requested range and sends the whole object");
  ASSIGN_OR_RETURN(const ContentRange sent, ParseContentRange(response));
  const uint64_t last = std::min(range.offset + range.length, sent.total) - 1;
  if (sent.first == range.offset && sent.last == last && response.bytes_into == last - sent.first + 1) return Status();
  return DataLoss("the service sent " + std::to_string(response.bytes_into) +
                  " bytes, which are not the requested range");
}

// Returns the ETag in quotes, for If-Match; "" for a weak ETag ("W/..."), which If-Match does not accept.
std::string ToStrongETag(const std::string& etag) {
  if (etag.empty() || etag.starts_with("W/")) return "";
  return etag.starts_with('"') ? etag : "\"" + etag + "\"";
}

// Returns OK if all objects are deleted.
Status CheckDeletions(const http::Response& response) {
  ASSIGN_OR_RETURN(const std::vector<DeleteFailure> failures, ParseDeleteResult(response.body));
  for (const DeleteFailure& failure : failures) {
    if (failure.code == "NoSuchKey") continue;
    const S3Error error{.http_status = failure.code == "AccessDenied" ? 403 : 500,
                        .is_of_one_key = true,
                        .code = failure.code.substr(0, 100)};
    return ToStatus(error, "deleting " + failure.key.substr(0, kMaxKeyBytes));
  }
  return Status();
}

// Returns OK if `head`, the response to HEAD after a PUT of this writer, shows this writer's object; AlreadyExists if
// it shows another writer's; Aborted if the object has been deleted since.
Status CheckWriter(const Result<http::Response>& head, const std::string& writer, const std::string& uri) {
  if (head.status().code() == StatusCode::kNotFound) return Aborted(uri + " was deleted while it was written");
  if (!head.ok()) return head.status();
  return IsWrittenBy(*head, writer) ? Status() : AlreadyExists(uri + " exists");
}

}  // namespace

S3Store::S3Store(std::shared_ptr<S3Client> client, S3Bucket bucket, std::string root, PartSizes part_sizes)
    : client_(std::move(client)), bucket_(std::move(bucket)), root_(std::move(root)), part_sizes_(part_sizes) {
  ESPALIER_CHECK(root_.empty() || CheckKey(root_).ok()) << root_;
}

std::string S3Store::ToUri(const std::string& key) const {
  const std::string path = key.empty() ? root_ : JoinKey(root_, key);
  return "s3://" + bucket_.name + (path.empty() ? "" : "/" + path);
}

Result<std::string> S3Store::ToBucketKey(const std::string& key) const {
  RETURN_IF_ERROR(CheckKey(key));
  std::string bucket_key = JoinKey(root_, key);
  if (bucket_key.size() <= kMaxKeyBytes) return bucket_key;
  return InvalidArgument("object key '" + bucket_key.substr(0, 64) + "...' is longer than 1024 bytes");
}

Result<http::Response> S3Store::SendHead(const std::string& bucket_key, const std::string& uri) {
  const S3Call call{.request = HeadObjectRequest(bucket_key),
                    .doing = "requesting the attributes of " + uri,
                    .known_statuses = {404}};
  ASSIGN_OR_RETURN(http::Response response, client_->Send(bucket_, call));
  if (response.status == 404) return NotFound("there is no object " + uri);
  return response;
}

Result<ObjectInfo> S3Store::Head(const std::string& key) {
  ASSIGN_OR_RETURN(const std::string bucket_key, ToBucketKey(key));
  RETURN_IF_ERROR(Failpoint("store.head"));
  ASSIGN_OR_RETURN(const http::Response response, SendHead(bucket_key, ToUri(key)));
  ASSIGN_OR_RETURN(const uint64_t size_bytes, ParseContentLength(response));
  const std::string* const etag = response.Header("etag");
  return ObjectInfo{key, size_bytes, etag == nullptr ? "" : *etag};
}

Result<std::string> S3Store::Get(const std::string& key) {
  ASSIGN_OR_RETURN(const std::string bucket_key, ToBucketKey(key));
  RETURN_IF_ERROR(Failpoint("store.get"));
  const S3Call call{.request = GetObjectRequest(bucket_key),
                    .doing = "reading " + ToUri(key),
                    .max_body_bytes = kMaxGetBytes,
                    .transfer_bytes = kUnknownTransferBytes,
                    .check = CheckCrc32};
  ASSIGN_OR_RETURN(http::Response response, client_->Send(bucket_, call));
  return std::move(response.body);
}

Status S3Store::CheckRange(const std::string& key, ByteRange range) {
  ASSIGN_OR_RETURN(const ObjectInfo object, Head(key));
  if (range.offset <= object.size_bytes && range.length <= object.size_bytes - range.offset) return Status();
  return OutOfRange(ToUri(key) + " has " + std::to_string(object.size_bytes) + " bytes; requested " +
                    std::to_string(range.length) + " bytes at offset " + std::to_string(range.offset));
}

Result<std::string> S3Store::GetRange(const std::string& key, ByteRange range) {
  // Checks the range before allocating a large buffer for bytes that may not exist.
  if (range.length > kMaxPieceBytes) RETURN_IF_ERROR(CheckRange(key, range));
  std::string bytes(range.length, '\0');
  RETURN_IF_ERROR(ReadRange(key, range, std::as_writable_bytes(std::span(bytes))));
  return bytes;
}

Status S3Store::ReadRangeOfVersion(const std::string& key, const std::string& etag, ByteRange range,
                                   std::span<std::byte> out) {
  ESPALIER_CHECK(out.size() == range.length) << out.size() << " bytes for a range of " << range.length;
  RETURN_IF_ERROR(ToBucketKey(key).status());
  RETURN_IF_ERROR(Failpoint("store.get"));
  // HTTP cannot request an empty range or one beyond 2^64.
  if (range.length == 0 || range.offset + range.length < range.offset) return CheckRange(key, range);
  std::string version = ToStrongETag(etag);
  for (uint64_t done = 0; done < range.length;) {
    const uint64_t length = std::min(kMaxPieceBytes, range.length - done);
    RETURN_IF_ERROR(ReadPiece(key, {range.offset + done, length}, out.subspan(done, length), version));
    done += length;
  }
  return Status();
}

Status S3Store::ReadPiece(const std::string& key, ByteRange range, std::span<std::byte> out, std::string& version) {
  const S3Call call{.request = GetObjectRangeRequest(JoinKey(root_, key), range, version),
                    .doing = "reading " + std::to_string(range.length) + " bytes at offset " +
                             std::to_string(range.offset) + " of " + ToUri(key),
                    .into = out,
                    .transfer_bytes = range.length,
                    .known_statuses = {412, 416},
                    .check = [range](const http::Response& response) { return CheckPiece(response, range); }};
  ASSIGN_OR_RETURN(const http::Response response, client_->Send(bucket_, call));
  if (response.status == 412) return Aborted(call.doing + ": the object was replaced during the read");
  if (response.status == 416) return OutOfRange(call.doing + ": the object ends before this range");
  ASSIGN_OR_RETURN(const ContentRange sent, ParseContentRange(response));
  if (sent.last + 1 != range.offset + range.length) {
    return OutOfRange(call.doing + ": the object has " + std::to_string(sent.total) + " bytes");
  }
  if (const std::string* found = response.Header("etag"); found != nullptr && version.empty())
    version = ToStrongETag(*found);
  return Status();
}

Result<std::unique_ptr<ObjectWriter>> S3Store::Put(const std::string& key) {
  ASSIGN_OR_RETURN(std::string bucket_key, ToBucketKey(key));
  return MakeS3Writer(client_, bucket_, std::move(bucket_key), part_sizes_);
}

Status S3Store::PutIfAbsent(const std::string& key, std::span<const std::byte> bytes) {
  ASSIGN_OR_RETURN(const std::string bucket_key, ToBucketKey(key));
  RETURN_IF_ERROR(Failpoint("store.put_if_absent"));
  const std::string uri = ToUri(key);
  // Some services ignore the condition. For these, checking first protects at least objects that exist already.
  const Result<http::Response> found = SendHead(bucket_key, uri);
  if (found.ok()) return AlreadyExists(uri + " exists");
  if (found.status().code() != StatusCode::kNotFound) return found.status();
  const std::string writer = MakeWriterName();
  const S3Call call{.request = PutMarkedObjectRequest(bucket_key, bytes, writer, PutCondition::kIfAbsent),
                    .doing = "writing " + uri,
                    .transfer_bytes = bytes.size(),
                    .known_statuses = {412, 501}};
  ASSIGN_OR_RETURN(const http::Response response, client_->Send(bucket_, call));
  if (response.status == 501) return PutWithoutCondition(bucket_key, uri, bytes);
  if (response.status != 412) return Status();
  // The existing object may be this writer's own, from a request whose response was lost.
  return CheckWriter(SendHead(bucket_key, uri), writer, uri);
}

// The caller has just checked that the key does not exist. Of two concurrent writers, the one that writes last wins.
// The other one finds the winner's object in its check after the write and returns AlreadyExists, unless that check
// comes before the winner's write.
Status S3Store::PutWithoutCondition(const std::string& bucket_key, const std::string& uri,
                                    std::span<const std::byte> bytes) {
  const std::string writer = MakeWriterName();
  const S3Call call{.request = PutMarkedObjectRequest(bucket_key, bytes, writer, PutCondition::kAlways),
                    .doing = "writing " + uri,
                    .transfer_bytes = bytes.size()};
  RETURN_IF_ERROR(client_->Send(bucket_, call).status());
  return CheckWriter(SendHead(bucket_key, uri), writer, uri);
}

Result<std::vector<ObjectInfo>> S3Store::List(const std::string& prefix) {
  RETURN_IF_ERROR(CheckPrefix(prefix));
  RETURN_IF_ERROR(Failpoint("store.list"));
  const std::string start = FolderPrefix(root_);
  std::vector<ObjectInfo> found;
  std::string token;
  for (int num_empty_pages = 0; num_empty_pages < kMaxEmptyPages;) {
    const S3Call call{.request = ListObjectsRequest(start + prefix, token),
                      .doing = "listing " + ToUri("") + "/" + prefix,
                      .max_body_bytes = kMaxListingBytes,
                      .check = [](const http::Response& response) { return ParseListPage(response.body).status(); }};
    const Result<http::Response> response = client_->Send(bucket_, call);
    if (response.status().code() == StatusCode::kNotFound) {
      // A bucket that exists returns an empty listing instead.
      return Unimplemented(response.status().message() +
                           "; no S3 service has this bucket at this address: check the endpoint");
    }
    if (!response.ok()) return response.status();
    ASSIGN_OR_RETURN(ListPage page, ParseListPage(response->body));
    num_empty_pages = page.objects.empty() ? num_empty_pages + 1 : 0;
    for (ObjectInfo& object : page.objects) {
      if (!object.key.starts_with(start + prefix))
        return DataLoss(call.doing + ": the service lists keys without this prefix");
      object.key.erase(0, start.size());
      if (CheckKey(object.key).ok()) found.push_back(std::move(object));
    }
    if (!page.continuation_token.empty() && page.continuation_token != token) {
      token = std::move(page.continuation_token);
      continue;
    }
    if (!page.continuation_token.empty()) return DataLoss(call.doing + ": the service repeats a continuation token");
    std::sort(found.begin(), found.end(), [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; });
    return found;
  }
  return DataLoss("listing " + ToUri("") + "/" + prefix + ": the service's listing does not end");
}

Status S3Store::Delete(const std::string& key) {
  ASSIGN_OR_RETURN(const std::string bucket_key, ToBucketKey(key));
  RETURN_IF_ERROR(Failpoint("store.delete"));
  const S3Call call{
      .request = DeleteObjectRequest(bucket_key), .doing = "deleting " + ToUri(key), .known_statuses = {404}};
  const Status deleted = client_->Send(bucket_, call).status();
  if (deleted.code() != StatusCode::kPermissionDenied) return deleted;
  // Delete succeeds if the object does not exist, even without the permission to delete it.
  return SendHead(bucket_key, ToUri(key)).status().code() == StatusCode::kNotFound ? Status() : deleted;
}

Status S3Store::DeleteMany(std::span<const std::string> keys) {
  std::vector<std::string> batch;
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(std::string bucket_key, ToBucketKey(key));
    if (!CanBeInXml(bucket_key)) {
      RETURN_IF_ERROR(Delete(key));
      continue;
    }
    batch.push_back(std::move(bucket_key));
  }
  for (size_t begin = 0; begin < batch.size(); begin += kMaxKeysPerDelete) {
    RETURN_IF_ERROR(Failpoint("store.delete"));
    RETURN_IF_ERROR(DeleteBatch(std::span(batch).subspan(begin, std::min(kMaxKeysPerDelete, batch.size() - begin))));
  }
  return Status();
}

Status S3Store::DeleteBatch(std::span<const std::string> bucket_keys) {
  const S3Call call{.request = DeleteObjectsRequest(bucket_keys),
                    .doing = "deleting " + std::to_string(bucket_keys.size()) + " objects of s3://" + bucket_.name,
                    .max_body_bytes = kMaxListingBytes,
                    .known_statuses = {501},
                    .check = CheckDeletions};
  ASSIGN_OR_RETURN(const http::Response response, client_->Send(bucket_, call));
  if (response.status != 501) return Status();
  for (const std::string& bucket_key : bucket_keys) {
    const S3Call one{.request = DeleteObjectRequest(bucket_key),
                     .doing = "deleting s3://" + bucket_.name + "/" + bucket_key,
                     .known_statuses = {404}};
    RETURN_IF_ERROR(client_->Send(bucket_, one).status());
  }
  return Status();
}

}  // namespace espalier::storage
