#include "services/storage/s3/sigv4.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>

#include "services/base/ascii.h"
#include "services/base/check.h"
#include "services/base/percent_encoding.h"
#include "services/base/sha256.h"

namespace espalier::storage {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string HmacSha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, 32> digest;
  unsigned int length = 0;
  const unsigned char* made =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
           text.size(), digest.data(), &length);
  ESPALIER_CHECK(made != nullptr && length == digest.size()) << "HMAC-SHA256 failed";
  return std::string(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::string Hex(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kHex[static_cast<unsigned char>(c) >> 4];
    text += kHex[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// Trims spaces at both ends and replaces runs of spaces with one.
std::string CanonicalValue(std::string_view value) {
  std::string trimmed;
  for (const char c : value) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) {
      trimmed += c;
    } else if (!trimmed.empty() && trimmed.back() != ' ') {
      trimmed += ' ';
    }
  }
  if (trimmed.ends_with(' ')) trimmed.pop_back();
  return trimmed;
}

// Returns the headers sorted by lower-case name. Values of the same name are joined by commas in their order.
std::map<std::string, std::string> CanonicalHeaders(const http::Headers& headers) {
  std::map<std::string, std::string> canonical;
  for (const auto& [name, value] : headers) {
    const auto [at, is_new] = canonical.emplace(ToLowerAscii(name), CanonicalValue(value));
    if (!is_new) at->second += "," + CanonicalValue(value);
  }
  return canonical;
}

std::string SignedHeaders(const http::Headers& headers) {
  std::string names;
  for (const auto& [name, value] : CanonicalHeaders(headers)) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string CredentialScope(const SigningScope& scope) {
  return FormatBasicUtc(scope.time).substr(0, 8) + "/" + scope.region + "/" + scope.service + "/aws4_request";
}

}  // namespace

std::string CanonicalPath(std::string_view path) {
  return path.empty() ? "/" : PercentEncode(path, SlashEncoding::kKeep);
}

std::string CanonicalQuery(const QueryParameters& query) {
  QueryParameters encoded;
  for (const auto& [name, value] : query) {
    encoded.emplace_back(PercentEncode(name, SlashEncoding::kEncode), PercentEncode(value, SlashEncoding::kEncode));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

std::string CanonicalRequest(const SignableRequest& request) {
  std::string text = request.method + "\n" + CanonicalPath(request.path) + "\n" + CanonicalQuery(request.query) + "\n";
  for (const auto& [name, value] : CanonicalHeaders(request.headers)) text += name + ":" + value + "\n";
  return text + "\n" + SignedHeaders(request.headers) + "\n" + request.payload_sha256;
}

std::string StringToSign(const std::string& canonical_request, const SigningScope& scope) {
  return std::string(kAlgorithm) + "\n" + FormatBasicUtc(scope.time) + "\n" + CredentialScope(scope) + "\n" +
         Sha256Hex(canonical_request);
}

std::string Signature(const std::string& string_to_sign, const SigningScope& scope, const telemetry::Secret& secret) {
  // The key is valid for one day, region and service, which limits the damage of a leaked key.
  std::string key = HmacSha256("AWS4" + secret.Reveal(), FormatBasicUtc(scope.time).substr(0, 8));
  key = HmacSha256(key, scope.region);
  key = HmacSha256(key, scope.service);
  key = HmacSha256(key, "aws4_request");
  return Hex(HmacSha256(key, string_to_sign));
}

std::string Authorization(const SignableRequest& request, const SigningScope& scope, const Credentials& credentials) {
  const std::string to_sign = StringToSign(CanonicalRequest(request), scope);
  return std::string(kAlgorithm) + " Credential=" + credentials.access_key_id + "/" + CredentialScope(scope) +
         ", SignedHeaders=" + SignedHeaders(request.headers) +
         ", Signature=" + Signature(to_sign, scope, credentials.secret_access_key);
}

}  // namespace espalier::storage
