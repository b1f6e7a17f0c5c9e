// Each check returns a message without position, and the caller adds the field's path. All checks are syntactic: they
// make no requests. The scheme of a URI is converted to its canonical spelling first, so that "s3a://" and "S3://" are
// valid, too.
#include "services/job/checks/check_uris.h"

#include <algorithm>
#include <string_view>

#include "services/base/uri_scheme.h"
#include "services/job/fields/field_table.h"
#include "services/job/text/ascii_digit.h"

namespace espalier::job {
namespace {

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || IsDigit(c); }

bool HasControlCharacter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// Removes the part up to and including the next `separator` from *rest, and returns it without the separator.
std::string_view TakeUntil(char separator, std::string_view* rest) {
  const size_t end = std::min(rest->find(separator), rest->size());
  const std::string_view part = rest->substr(0, end);
  rest->remove_prefix(std::min(end + 1, rest->size()));
  return part;
}

bool IsLetterOrDigit(char c) { return IsLowerOrDigit(c) || (c >= 'A' && c <= 'Z'); }

// Returns whether Ceph allows the name. services/storage/s3/bucket.cc is stricter if the name becomes part of a host
// name.
bool IsBucket(std::string_view name) {
  if (name.size() < 3 || name.size() > 255 || !IsLetterOrDigit(name.front()) || !IsLetterOrDigit(name.back())) {
    return false;
  }
  return name.find("..") == std::string_view::npos && std::all_of(name.begin(), name.end(), [](char c) {
           return IsLetterOrDigit(c) || c == '.' || c == '-' || c == '_';
         });
}

// Returns whether the path of an endpoint, empty or such as "/storage/v1/s3", has only valid parts.
bool IsEndpointPath(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, std::min(path.find('/'), path.size()));
    const bool is_valid =
        !part.empty() && part != "." && part != ".." && std::all_of(part.begin(), part.end(), [](char c) {
          return IsLetterOrDigit(c) || c == '.' || c == '-' || c == '_' || c == '~';
        });
    if (!is_valid) return false;
    path.remove_prefix(part.size());
  }
  return true;
}

std::string LongPrefixProblem(size_t max_prefix) {
  const std::string problem = "the prefix of an s3:// URI has at most " + std::to_string(max_prefix) + " bytes";
  if (max_prefix == kMaxKeyBytes) return problem;
  return problem + ": keys have at most " + std::to_string(kMaxKeyBytes) +
         ", and the names of files below the prefix need the rest";
}

std::string S3Problem(std::string_view rest, size_t max_prefix) {
  const std::string_view bucket = TakeUntil('/', &rest);
  if (!IsBucket(bucket)) {
    return "expected s3://bucket/prefix with a bucket of 3 to 255 letters, digits, '-', '_' and '.', found '" +
           std::string(bucket) + "'";
  }
  if (rest.size() > max_prefix) return LongPrefixProblem(max_prefix);
  while (!rest.empty()) {
    const std::string_view part = TakeUntil('/', &rest);
    if (part.empty() || part == "." || part == "..") {
      return "the prefix of an s3:// URI must not have an empty, '.' or '..' part";
    }
    if (part.find('\\') != std::string_view::npos) return "the prefix of an s3:// URI must not have a backslash";
  }
  return "";
}

bool IsPort(std::string_view text) {
  if (text.empty() || text.size() > 5 || !std::all_of(text.begin(), text.end(), IsDigit)) return false;
  const int port = std::stoi(std::string(text));
  return port >= 1 && port <= 65535;
}

bool IsHost(std::string_view host) {
  if (host.starts_with('[')) {
    return host.size() > 4 && host.ends_with(']') &&
           host.substr(1, host.size() - 2).find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
  }
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  return !host.empty() && host.size() <= 253 && host.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

std::string UriProblem(const std::string& text, size_t max_prefix) {
  const std::string uri = CanonicalUri(text);
  if (uri.empty()) return "is empty";
  if (HasControlCharacter(uri)) return "contains a control character";
  if (uri.starts_with("s3://")) return S3Problem(std::string_view(uri).substr(5), max_prefix);
  if (uri.starts_with("s3:")) return "expected s3://bucket/prefix";
  if (uri == "file:" || uri == "file://") return "names no folder: expected file:///folder";
  if (uri.starts_with("file://") && !uri.starts_with("file:///")) {
    return "a file: URI must not have a host: expected file:///folder";
  }
  return SchemeProblem(uri);
}

std::string EndpointProblem(const std::string& text) {
  const std::string expected = "expected http://host[:port][/path] or https://host[:port][/path]";
  std::string_view rest = text;
  if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return expected;
  }
  // The message must not repeat the text before '@', which could be a password.
  if (rest.find('@') != std::string_view::npos) return "an endpoint must not have a user or password: " + expected;
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const size_t slash = std::min(rest.find('/'), rest.size());
  if (!IsEndpointPath(rest.substr(slash))) return expected;
  rest = rest.substr(0, slash);
  const size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;  // colons in brackets belong to an IPv6 address
  if (bracket == std::string_view::npos) return expected;
  const size_t colon = rest.find(':', bracket);
  if (colon != std::string_view::npos && !IsPort(rest.substr(colon + 1))) return expected;
  return IsHost(rest.substr(0, colon)) ? "" : expected;
}

std::string ObjectNameProblem(const std::string& text) {
  const bool is_valid =
      !text.empty() && text.size() <= 253 && IsLowerOrDigit(text.front()) && IsLowerOrDigit(text.back()) &&
      std::all_of(text.begin(), text.end(), [](char c) { return IsLowerOrDigit(c) || c == '-' || c == '.'; });
  return is_valid ? "" : "expected a name of lower-case letters, digits, '-' and '.' (at most 253)";
}

}  // namespace espalier::job
