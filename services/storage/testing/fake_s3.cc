#include "services/storage/testing/fake_s3.h"

#include <algorithm>
#include <pugixml.hpp>

#include "services/base/check.h"
#include "services/base/hash.h"
#include "services/base/percent_encoding.h"
#include "services/base/sha256.h"
#include "services/storage/testing/scripted_transport.h"

namespace espalier::storage {
namespace {

constexpr char kOrigin[] = "http://s3.test";

std::string Decoded(std::string_view text) {
  Result<std::string> decoded = PercentDecode(text, PlusDecoding::kKeep);
  return decoded.ok() ? *std::move(decoded) : "%";
}

QueryParameters QueryOf(std::string_view text) {
  QueryParameters query;
  while (!text.empty()) {
    const size_t end = std::min(text.find('&'), text.size());
    const std::string_view pair = text.substr(0, end);
    const size_t equals = std::min(pair.find('='), pair.size());
    query.emplace_back(Decoded(pair.substr(0, equals)), Decoded(pair.substr(std::min(equals + 1, pair.size()))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return query;
}

std::string CrcOf(const std::string& bytes) { return EncodeCrc32(ComputeCrc32(std::as_bytes(std::span(bytes)))); }

std::string DateText(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::string basic = FormatBasicUtc(time);  // 20150830T123600Z
  return "Sun, " + basic.substr(6, 2) + " " + kMonths[static_cast<unsigned>(date.month()) - 1] + " " +
         basic.substr(0, 4) + " " + basic.substr(9, 2) + ":" + basic.substr(11, 2) + ":" + basic.substr(13, 2) + " GMT";
}

}  // namespace

// A request as the service reads it from the wire.
struct FakeS3::Request {
  std::string method, path, key, body;
  QueryParameters query;
  http::Headers headers;

  static Request Of(const http::Request& http) {
    Request request{.method = http.method, .headers = http.headers};
    const std::string target = http.url.substr(std::min(std::string(kOrigin).size(), http.url.size()));
    const size_t mark = std::min(target.find('?'), target.size());
    request.path = Decoded(std::string_view(target).substr(0, mark));
    request.query = QueryOf(std::string_view(target).substr(std::min(mark + 1, target.size())));
    request.key = request.path.substr(std::min(std::string("/bucket/").size(), request.path.size()));
    request.body.assign(reinterpret_cast<const char*>(http.body.data()), http.body.size());
    return request;
  }
  bool Asks(const std::string& name) const {
    return std::any_of(query.begin(), query.end(), [&](const auto& pair) { return pair.first == name; });
  }
  std::string Query(const std::string& name) const {
    for (const auto& [found, value] : query) {
      if (found == name) return value;
    }
    return "";
  }
  std::string Header(const std::string& name) const {
    for (const auto& [found, value] : headers) {
      if (found == name) return value;
    }
    return "";
  }
};

S3Bucket FakeS3::Bucket() {
  return {.scheme = "http", .host = "s3.test", .path_prefix = "/bucket", .name = "bucket", .region = "us-east-1"};
}

void FakeS3::set_now(WallTime now) {
  MutexLock lock(&mutex_);
  now_ = now;
}
void FakeS3::set_credentials(Credentials credentials) {
  MutexLock lock(&mutex_);
  credentials_ = std::move(credentials);
}
void FakeS3::set_page_size(size_t num_keys) {
  MutexLock lock(&mutex_);
  page_size_ = num_keys;
}
void FakeS3::set_conditions(Conditions conditions) {
  MutexLock lock(&mutex_);
  conditions_ = conditions;
}
int64_t FakeS3::num_requests() const {
  MutexLock lock(&mutex_);
  return num_requests_;
}
size_t FakeS3::num_open_uploads() const {
  MutexLock lock(&mutex_);
  return uploads_.size();
}

Result<http::Response> FakeS3::Send(const http::Request& request, const http::SendOptions& options) {
  MutexLock lock(&mutex_);
  ++num_requests_;
  http::Response response = Serve(request);
  response.headers.emplace_back("date", DateText(now_));
  if (request.method == "HEAD") {
    response.body.clear();
  } else {
    response.headers.emplace_back("content-length", std::to_string(response.body.size()));
  }
  return ScriptedTransport::Deliver(std::move(response), options);
}

http::Response FakeS3::Refuse(int status, const std::string& code) const {
  return {status, {}, "<Error><Code>" + code + "</Code><Message>no</Message></Error>"};
}

// Returns the error code for an invalid signature, or "".
std::string FakeS3::FaultOfSignature(const Request& request) const {
  SignableRequest signable{.method = request.method, .path = request.path, .query = request.query};
  for (const auto& header : request.headers) {
    if (header.first != "authorization") signable.headers.push_back(header);
  }
  signable.payload_sha256 = request.Header("x-amz-content-sha256");
  const std::string sent = request.Header("authorization");
  if (sent.find("Credential=" + credentials_.access_key_id + "/") == std::string::npos) return "ExpiredToken";
  const std::string stamp = request.Header("x-amz-date");
  const std::string extended = stamp.size() != 16
                                   ? ""
                                   : stamp.substr(0, 4) + "-" + stamp.substr(4, 2) + "-" + stamp.substr(6, 5) + ":" +
                                         stamp.substr(11, 2) + ":" + stamp.substr(13);
  const std::optional<WallTime> time = ParseExtendedUtc(extended);
  if (!time) return "AccessDenied";
  if (sent != Authorization(signable, {*time, "us-east-1", "s3"}, credentials_)) return "SignatureDoesNotMatch";
  if (std::chrono::abs(*time - now_) > std::chrono::minutes(15)) return "RequestTimeTooSkewed";
  return signable.payload_sha256 == Sha256Hex(request.body) ? "" : "XAmzContentSHA256Mismatch";
}

http::Response FakeS3::Serve(const http::Request& http) {
  const Request request = Request::Of(http);
  if (!http.url.starts_with(std::string(kOrigin) + "/bucket")) return Refuse(404, "NoSuchBucket");
  if (const std::string fault = FaultOfSignature(request); !fault.empty()) {
    return Refuse(fault == "ExpiredToken" || fault == "XAmzContentSHA256Mismatch" ? 400 : 403, fault);
  }
  const std::string crc32 = request.Header("x-amz-checksum-crc32");
  if (request.method == "PUT" && !crc32.empty() && crc32 != CrcOf(request.body)) return Refuse(400, "BadDigest");
  if (request.method == "GET" && request.key.empty()) return List(request);
  if (request.method == "GET" || request.method == "HEAD") return Get(request);
  if (request.method == "PUT") return Put(request);
  if (request.method == "DELETE") return Delete(request);
  return Post(request);
}

http::Response FakeS3::Get(const Request& request) {
  const auto found = objects_.find(request.key);
  if (found == objects_.end()) return Refuse(404, "NoSuchKey");
  const Object& object = found->second;
  http::Response response{200, {{"etag", object.etag}}, object.bytes};
  if (!object.writer.empty()) response.headers.emplace_back(kWriterHeader, object.writer);
  if (request.method == "HEAD") {
    response.headers.emplace_back("content-length", std::to_string(object.bytes.size()));
    return response;
  }
  const std::string range = request.Header("range");
  if (range.empty()) {
    response.headers.emplace_back("x-amz-checksum-crc32", object.crc32);
    return response;
  }
  if (const std::string match = request.Header("if-match"); !match.empty() && match != object.etag) {
    return Refuse(412, "PreconditionFailed");
  }
  const uint64_t first = std::stoull(range.substr(6));
  if (first >= object.bytes.size()) return Refuse(416, "InvalidRange");
  const uint64_t last = std::min<uint64_t>(std::stoull(range.substr(range.find('-') + 1)), object.bytes.size() - 1);
  response.status = 206;
  response.body = object.bytes.substr(first, last - first + 1);
  response.headers.emplace_back("content-range", "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" +
                                                     std::to_string(object.bytes.size()));
  return response;
}

http::Response FakeS3::Put(const Request& request) {
  const std::string etag = "\"" + ToHex(Hash64(request.body)) + "\"";
  if (request.Asks("partNumber")) {
    const auto upload = uploads_.find(request.Query("uploadId"));
    if (upload == uploads_.end()) return Refuse(404, "NoSuchUpload");
    upload->second.parts[std::stoi(request.Query("partNumber"))] = request.body;
    return {200, {{"etag", etag}}};
  }
  if (!request.Header("if-none-match").empty()) {
    if (conditions_ == Conditions::kRefused) return Refuse(501, "NotImplemented");
    if (objects_.contains(request.key)) return Refuse(412, "PreconditionFailed");
  }
  objects_[request.key] = {request.body, request.Header(kWriterHeader), CrcOf(request.body), etag};
  return {200, {{"etag", etag}}};
}

http::Response FakeS3::Delete(const Request& request) {
  if (request.Asks("uploadId"))
    return uploads_.erase(request.Query("uploadId")) == 1 ? http::Response{204} : Refuse(404, "NoSuchUpload");
  objects_.erase(request.key);
  return {204};
}

http::Response FakeS3::Post(const Request& request) {
  if (request.Asks("delete")) return DeleteMany(request);
  if (request.Asks("uploadId")) return Complete(request);
  const std::string id = "upload/" + std::to_string(next_upload_++) + "=";
  uploads_[id] = {request.key, request.Header(kWriterHeader), {}};
  http::Headers headers;
  const std::string type = request.Header("x-amz-checksum-type");
  if (!type.empty()) headers.emplace_back("x-amz-checksum-type", type);
  return {200, headers,
          "<InitiateMultipartUploadResult><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>"};
}

http::Response FakeS3::Complete(const Request& request) {
  const auto found = uploads_.find(request.Query("uploadId"));
  if (found == uploads_.end()) return Refuse(404, "NoSuchUpload");
  const Upload upload = found->second;
  pugi::xml_document document;
  if (!document.load_string(request.body.c_str())) return Refuse(400, "MalformedXML");
  Object object{.writer = upload.writer};
  int last = 0;
  for (const pugi::xml_node part : document.document_element().children("Part")) {
    const int number = part.child("PartNumber").text().as_int();
    const auto bytes = upload.parts.find(number);
    if (bytes == upload.parts.end()) return Refuse(400, "InvalidPart");
    const std::string crc32 = part.child_value("ChecksumCRC32");
    if (!crc32.empty() && crc32 != CrcOf(bytes->second)) return Refuse(400, "InvalidPart");
    if (number <= last) return Refuse(400, "InvalidPartOrder");
    last = number;
    object.bytes += bytes->second;
  }
  object.crc32 = CrcOf(object.bytes);
  const std::string crc32 = request.Header("x-amz-checksum-crc32");
  if (!crc32.empty() && crc32 != object.crc32) return Refuse(400, "BadDigest");
  object.etag = "\"" + ToHex(Hash64(object.bytes)) + "-" + std::to_string(last) + "\"";
  objects_[upload.key] = std::move(object);
  uploads_.erase(found);
  return {200, {}, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>"};
}

http::Response FakeS3::DeleteMany(const Request& request) {
  pugi::xml_document document;
  if (request.Header("content-md5").empty() || !document.load_string(request.body.c_str()))
    return Refuse(400, "MalformedXML");
  for (const pugi::xml_node object : document.document_element().children("Object")) {
    objects_.erase(object.child_value("Key"));
  }
  return {200, {}, "<DeleteResult></DeleteResult>"};
}

http::Response FakeS3::List(const Request& request) const {
  const std::string prefix = request.Query("prefix"), after = request.Query("continuation-token");
  std::string xml = "<ListBucketResult><EncodingType>url</EncodingType>", last;
  size_t num_keys = 0;
  auto it = after.empty() ? objects_.lower_bound(prefix) : objects_.upper_bound(after);
  for (; it != objects_.end() && it->first.starts_with(prefix) && num_keys < page_size_; ++it, ++num_keys) {
    xml += "<Contents><Key>" + PercentEncode(it->first, SlashEncoding::kKeep) + "</Key><Size>" +
           std::to_string(it->second.bytes.size()) + "</Size></Contents>";
    last = it->first;
  }
  const bool is_truncated = it != objects_.end() && it->first.starts_with(prefix);
  if (is_truncated) xml += "<IsTruncated>true</IsTruncated><NextContinuationToken>" + last + "</NextContinuationToken>";
  return {200, {}, xml + "</ListBucketResult>"};
}

}  // namespace espalier::storage
