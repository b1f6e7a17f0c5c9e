// Each call takes an idle curl easy handle, which owns its connections, or makes a new one, and puts it back only after
// success. curl calls OnHeader and OnBody with the bytes of the response and OnRead for the bytes of the request;
// the callbacks share one Exchange. OnHeader and OnBody return 0 to abort the exchange.
#include "services/http/curl_transport.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>

#include "services/base/ascii.h"
#include "services/base/check.h"
#include "services/http/url.h"

namespace espalier::http {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxHeaderBytes = 64 * 1024;
constexpr long kReceiveBufferBytes = 512 * 1024;     // NOLINT: curl's type
constexpr long kLowSpeedBytesPerSecond = 32 * 1024;  // NOLINT

// The state of one exchange for curl's callbacks.
struct Exchange {
  const Request& request;
  const SendOptions& options;
  Response response;
  size_t body_sent = 0;
  size_t header_bytes = 0;
  bool has_overflown = false;         // the response is longer than a limit allows
  bool has_overflown_buffer = false;  // the exceeded limit is the size of options.into
};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && std::strchr(" \t\r\n", text.back()) != nullptr) text.remove_suffix(1);
  return text;
}

// The callbacks of curl get `count` items of size `one`, which is always 1, and return how many bytes they have
// handled.
size_t OnHeader(char* bytes, size_t one, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const std::string_view line = Trim({bytes, one * count});
  exchange.header_bytes += one * count;
  if (exchange.header_bytes > kMaxHeaderBytes) {
    exchange.has_overflown = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {  // drops the headers of an earlier response, such as 1xx
    exchange.response.headers.clear();
    return one * count;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return one * count;
  std::string name = ToLowerAscii(std::string(Trim(line.substr(0, colon))));
  exchange.response.headers.emplace_back(std::move(name), std::string(Trim(line.substr(colon + 1))));
  return one * count;
}

bool IsSuccess(CURL* easy) {
  long status = 0;  // NOLINT: curl's type
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300;
}

struct BodyReceiver {
  CURL* easy;  // for the status of the response
  Exchange& exchange;
};

size_t OnBody(char* bytes, size_t one, size_t count, void* user) {
  BodyReceiver& receiver = *static_cast<BodyReceiver*>(user);
  Response& response = receiver.exchange.response;
  const SendOptions& options = receiver.exchange.options;
  const size_t size_bytes = one * count;
  const bool uses_buffer = options.into.data() != nullptr && IsSuccess(receiver.easy);
  const size_t max_bytes =
      uses_buffer ? options.into.size() - response.bytes_into : options.max_body_bytes - response.body.size();
  if (size_bytes > max_bytes) {
    receiver.exchange.has_overflown = true;
    receiver.exchange.has_overflown_buffer = uses_buffer;
    return 0;
  }
  if (uses_buffer) {
    std::memcpy(options.into.data() + response.bytes_into, bytes, size_bytes);
    response.bytes_into += size_bytes;
  } else {
    response.body.append(bytes, size_bytes);
  }
  return size_bytes;
}

size_t OnRead(char* buffer, size_t one, size_t count, void* user) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  const std::span<const std::byte> rest = exchange.request.body.subspan(exchange.body_sent);
  const size_t size_bytes = std::min(rest.size(), one * count);
  std::memcpy(buffer, rest.data(), size_bytes);
  exchange.body_sent += size_bytes;
  return size_bytes;
}

// Called by curl to send the body again when a reused connection turns out to be closed.
int OnSeek(void* user, curl_off_t offset, int origin) {
  Exchange& exchange = *static_cast<Exchange*>(user);
  if (origin != SEEK_SET || offset < 0 || static_cast<size_t>(offset) > exchange.request.body.size()) {
    return CURL_SEEKFUNC_CANTSEEK;
  }
  exchange.body_sent = static_cast<size_t>(offset);
  return CURL_SEEKFUNC_OK;
}

class HeaderList {
 public:
  explicit HeaderList(const Headers& headers) {
    // curl sends a header with an empty value only in the form "name;".
    for (const auto& [name, value] : headers) Append(value.empty() ? name + ";" : name + ": " + value);
    Append("Expect:");  // do not wait for "100 Continue", which costs a round trip
  }
  ~HeaderList() { curl_slist_free_all(list_); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  curl_slist* get() const { return list_; }

 private:
  void Append(const std::string& line) {
    curl_slist* const longer = curl_slist_append(list_, line.c_str());
    ESPALIER_CHECK(longer != nullptr) << "out of memory";
    list_ = longer;
  }
  curl_slist* list_ = nullptr;
};

template <class T>
void Set(CURL* easy, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  ESPALIER_CHECK(code == CURLE_OK) << "curl option " << option << ": " << curl_easy_strerror(code);
}

void SetMethod(CURL* easy, const Request& request) {
  if (request.method == "HEAD") {
    Set(easy, CURLOPT_NOBODY, 1L);
  } else if (request.method == "GET") {
    Set(easy, CURLOPT_HTTPGET, 1L);
  } else {
    // PUT and POST send a Content-Length even if it is 0.
    if (request.method != "DELETE" || !request.body.empty()) {
      Set(easy, CURLOPT_UPLOAD, 1L);
      Set(easy, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    }
    Set(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

void SetLimits(CURL* easy, const SendOptions& options, milliseconds connect_timeout) {
  // Rounded up, because 0 means no limit.
  const auto remaining = std::chrono::ceil<milliseconds>(options.deadline.Remaining());
  const milliseconds total = std::clamp(remaining, milliseconds(1), milliseconds(std::chrono::hours(24)));
  Set(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(total.count()));                                    // NOLINT
  Set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::min(total, connect_timeout).count()));  // NOLINT
  Set(easy, CURLOPT_LOW_SPEED_LIMIT, kLowSpeedBytesPerSecond);
  Set(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stall_timeout.count()));  // NOLINT
}

// Returns whether curl failed because the peer does not speak TLS. OpenSSL's message differs between versions.
bool IsPlainPort(CURLcode code, std::string_view details) {
  if (code != CURLE_SSL_CONNECT_ERROR) return false;
  for (const char* words :
       {"wrong version number", "unknown protocol", "packet length too long", "http request", "record layer failure"}) {
    if (details.find(words) != std::string_view::npos) return true;
  }
  return false;
}

Status ToStatus(CURLcode code, const Exchange& exchange, const std::string& origin, const char* details) {
  if (exchange.has_overflown) {
    if (exchange.has_overflown_buffer) {
      return Unimplemented(origin +
                           " responds with more bytes than requested: the service does not support ranges, or "
                           "is not an S3 service");
    }
    return Internal(origin + " responds with more than " + std::to_string(exchange.options.max_body_bytes) +
                    " bytes of body or " + std::to_string(kMaxHeaderBytes) + " bytes of headers");
  }
  const std::string message = origin + ": " + (details[0] != '\0' ? details : curl_easy_strerror(code));
  if (IsPlainPort(code, details)) {
    return FailedPrecondition(message + "; the port does not speak TLS: use http:// in the endpoint, or another port");
  }
  // A TLS port may respond to a plain request with a TLS alert, which is not HTTP.
  if (code == CURLE_UNSUPPORTED_PROTOCOL && !origin.empty()) {
    return FailedPrecondition(message + "; the port does not speak HTTP" +
                              (origin.starts_with("http://") ? ": it may expect https:// in the endpoint" : ""));
  }
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return DeadlineExceeded(message);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR: return FailedPrecondition(message);
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL: return InvalidArgument(message);
    default: return Unavailable(message);
  }
}

// Returns the origin of a request, such as "http://s3.example.com:9000", or "" if its URL is invalid.
std::string ParseOrigin(const Request& request) {
  const Result<Url> url = ParseUrl(request.url);
  return url.ok() ? url->Origin() : "";
}

void InitializeCurl() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  ESPALIER_CHECK(code == CURLE_OK) << curl_easy_strerror(code);
}

}  // namespace

class CurlTransport::Handle {
 public:
  Handle() : easy_(curl_easy_init()) { ESPALIER_CHECK(easy_ != nullptr) << "out of memory"; }
  ~Handle() { curl_easy_cleanup(easy_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  Result<Response> Perform(const Request& request, const SendOptions& options, const CurlOptions& settings) {
    ASSIGN_OR_RETURN(const Url url, ParseUrl(request.url));
    curl_easy_reset(easy_);  // keeps the connection and the TLS session
    Exchange exchange{.request = request, .options = options};
    BodyReceiver receiver{easy_, exchange};
    const HeaderList headers(request.headers);
    char details[CURL_ERROR_SIZE] = "";
    Set(easy_, CURLOPT_ERRORBUFFER, details);
    Set(easy_, CURLOPT_URL, request.url.c_str());
    Set(easy_, CURLOPT_HTTPHEADER, headers.get());
    Set(easy_, CURLOPT_HEADERFUNCTION, &OnHeader);
    Set(easy_, CURLOPT_HEADERDATA, &exchange);
    Set(easy_, CURLOPT_WRITEFUNCTION, &OnBody);
    Set(easy_, CURLOPT_WRITEDATA, &receiver);
    Set(easy_, CURLOPT_READFUNCTION, &OnRead);
    Set(easy_, CURLOPT_READDATA, &exchange);
    Set(easy_, CURLOPT_SEEKFUNCTION, &OnSeek);
    Set(easy_, CURLOPT_SEEKDATA, &exchange);
    SetMethod(easy_, request);
    SetLimits(easy_, options, settings.connect_timeout);
    SetTransport(request, settings);
    const CURLcode code = curl_easy_perform(easy_);
    if (code != CURLE_OK) return ToStatus(code, exchange, url.Origin(), details);
    long status = 0;  // NOLINT: curl's type
    curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
    exchange.response.status = static_cast<int>(status);
    return std::move(exchange.response);
  }

  // Returns whether the port of an http:// URL completes a TLS handshake, with any certificate. Sends no request.
  bool CompletesTlsHandshake(const Request& request, const CurlOptions& settings, milliseconds time_left) {
    const std::string url = "https" + request.url.substr(std::string_view("http").size());
    const auto limit = std::min(settings.connect_timeout, time_left);
    const long timeout = static_cast<long>(std::max(limit.count(), milliseconds::rep{1}));  // NOLINT: curl's type
    Set(easy_, CURLOPT_URL, url.c_str());
    Set(easy_, CURLOPT_CONNECT_ONLY, 1L);
    Set(easy_, CURLOPT_TIMEOUT_MS, timeout);
    SetTransport(request, settings);
    Set(easy_, CURLOPT_SSL_VERIFYPEER, 0L);
    Set(easy_, CURLOPT_SSL_VERIFYHOST, 0L);
    return curl_easy_perform(easy_) == CURLE_OK;
  }

 private:
  void SetTransport(const Request& request, const CurlOptions& settings) {
    Set(easy_, CURLOPT_NOSIGNAL, 1L);
    Set(easy_, CURLOPT_PATH_AS_IS, 1L);  // the signature covers the unmodified path
    Set(easy_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));  // NOLINT
    Set(easy_, CURLOPT_PROTOCOLS_STR, "http,https");
    Set(easy_, CURLOPT_BUFFERSIZE, kReceiveBufferBytes);
    Set(easy_, CURLOPT_UPLOAD_BUFFERSIZE, kReceiveBufferBytes);
    Set(easy_, CURLOPT_TCP_KEEPALIVE, 1L);
    Set(easy_, CURLOPT_MAXCONNECTS, 2L);
    if (!settings.ca_file.empty()) Set(easy_, CURLOPT_CAINFO, settings.ca_file.c_str());
    if (request.proxy == ProxyUse::kNone) Set(easy_, CURLOPT_NOPROXY, "*");
  }

  CURL* const easy_;
};

CurlTransport::CurlTransport(CurlOptions options) : options_(std::move(options)) { InitializeCurl(); }
CurlTransport::~CurlTransport() = default;

std::unique_ptr<CurlTransport::Handle> CurlTransport::TakeHandle() {
  MutexLock lock(&mutex_);
  if (idle_.empty()) return std::make_unique<Handle>();
  std::unique_ptr<Handle> handle = std::move(idle_.back());
  idle_.pop_back();
  return handle;
}

void CurlTransport::GiveBack(std::unique_ptr<Handle> handle) {
  MutexLock lock(&mutex_);
  if (idle_.size() < options_.max_idle_handles) idle_.push_back(std::move(handle));
}

Result<Response> CurlTransport::Send(const Request& request, const SendOptions& options) {
  if (options.deadline.HasPassed()) {
    return DeadlineExceeded(ParseOrigin(request) + ": the deadline has passed before the request was sent");
  }
  std::unique_ptr<Handle> handle = TakeHandle();
  Result<Response> response = handle->Perform(request, options, options_);
  // Drops a handle after a failure. Its connection is not reusable, and the handle may reject options: after a host
  // name that could not be resolved, libcurl 7.88 rejects CURLOPT_BUFFERSIZE.
  if (!response.ok()) return ExplainEmptyReply(std::move(response).status(), request, options);
  GiveBack(std::move(handle));
  {
    MutexLock lock(&mutex_);
    answered_origins_.insert(ParseOrigin(request));
  }
  return response;
}

// A TLS port may close the connection of a plain request without responding, which looks like a failing server. Until
// the server has responded once, a TLS handshake distinguishes the two cases.
Status CurlTransport::ExplainEmptyReply(Status status, const Request& request, const SendOptions& options) {
  const bool is_empty = status.message().find(curl_easy_strerror(CURLE_GOT_NOTHING)) != std::string::npos ||
                        status.message().find("Empty reply") != std::string::npos;
  if (!is_empty || !request.url.starts_with("http://")) return status;
  {
    MutexLock lock(&mutex_);
    if (answered_origins_.contains(ParseOrigin(request))) return status;
  }
  const auto time_left = std::chrono::duration_cast<milliseconds>(options.deadline.Remaining());
  if (!Handle().CompletesTlsHandshake(request, options_, time_left)) return status;
  return FailedPrecondition(status.message() + "; the port expects https://: use that in the endpoint");
}

}  // namespace espalier::http
