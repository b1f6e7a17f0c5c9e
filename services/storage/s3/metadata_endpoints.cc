// Credentials over HTTP from an agent beside this process: EKS Pod Identity and ECS (one GET, with a token if one is
// configured) and EC2 instances (IMDSv2: a PUT for a session, a GET for the role's name, a GET for its credentials).
// The response with the credentials is JSON with the same fields everywhere.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "services/base/percent_encoding.h"
#include "services/http/url.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/small_file.h"

namespace espalier::storage {
namespace {

using telemetry::Secret;

constexpr char kInstanceOrigin[] = "http://169.254.169.254";
constexpr char kRolePath[] = "/latest/meta-data/iam/security-credentials/";

std::string GetText(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

Result<Credentials> ParseCredentials(const std::string& body) {
  const nlohmann::json object = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return DataLoss("the response is not a JSON object");
  if (const std::string code = GetText(object, "Code"); !code.empty() && code != "Success") {
    return Unavailable("the response has a Code other than Success");
  }
  Credentials credentials{.access_key_id = GetText(object, "AccessKeyId"),
                          .secret_access_key = Secret(GetText(object, "SecretAccessKey")),
                          .session_token = Secret(GetText(object, "Token")),
                          .expires = ParseExtendedUtc(GetText(object, "Expiration"))};
  if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
    return DataLoss("the response lacks AccessKeyId or SecretAccessKey");
  }
  return credentials;
}

// Sends the request and returns the body of a 200 response. Never uses a proxy, because the agents' usual addresses are
// link-local or loopback, and a proxy would reach other machines there.
Result<std::string> SendRequest(http::Transport& transport, http::Request request, Deadline deadline) {
  request.proxy = http::ProxyUse::kNone;
  ASSIGN_OR_RETURN(http::Response response, transport.Send(request, {.deadline = deadline}));
  if (response.status == 200) return std::move(response.body);
  const std::string message = "the endpoint responded with status " + std::to_string(response.status);
  const bool is_transient = response.status >= 500 || response.status == 429;
  return Status(is_transient ? StatusCode::kUnavailable : StatusCode::kPermissionDenied, message);
}

bool IsOneLine(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

class ContainerSource final : public CredentialSource {
 public:
  ContainerSource(const S3CredentialSettings& settings, std::string host, http::Transport& transport)
      : url_(settings.container_uri),
        host_(std::move(host)),
        token_file_(settings.container_token_file),
        token_(settings.container_token),
        transport_(transport) {}

  std::string Describe() const override { return "container endpoint at " + host_; }
  bool IsRenewable() const override { return true; }

  Result<Credentials> Fetch(Deadline deadline) override {
    http::Request request{.method = "GET", .url = url_};
    Secret token = token_;
    if (!token_file_.empty()) {
      ASSIGN_OR_RETURN(std::string text, ReadSmallFile(token_file_));
      token = Secret(std::move(text));
    }
    if (!IsOneLine(token.Reveal()))
      return FailedPrecondition("the authorization token has a line break or another control character");
    if (!token.empty()) request.headers.emplace_back("authorization", token.Reveal());
    ASSIGN_OR_RETURN(const std::string body, SendRequest(transport_, request, deadline));
    return ParseCredentials(body);
  }

 private:
  const std::string url_;
  const std::string host_;
  const std::string token_file_;
  const Secret token_;
  http::Transport& transport_;  // outlives this
};

class InstanceSource final : public CredentialSource {
 public:
  explicit InstanceSource(http::Transport& transport) : transport_(transport) {}
  std::string Describe() const override { return "instance metadata"; }
  bool IsRenewable() const override { return true; }

  Result<Credentials> Fetch(Deadline deadline) override {
    http::Request session{.method = "PUT", .url = std::string(kInstanceOrigin) + "/latest/api/token"};
    session.headers.emplace_back("x-aws-ec2-metadata-token-ttl-seconds", "300");
    ASSIGN_OR_RETURN(const std::string token, SendRequest(transport_, session, deadline));
    if (token.empty() || !IsOneLine(token)) return DataLoss("invalid session token");
    const http::Headers headers = {{"x-aws-ec2-metadata-token", token}};
    const std::string roles_url = std::string(kInstanceOrigin) + kRolePath;
    ASSIGN_OR_RETURN(const std::string roles,
                     SendRequest(transport_, {.method = "GET", .url = roles_url, .headers = headers}, deadline));
    const std::string role = roles.substr(0, roles.find_first_of("\r\n"));
    if (role.empty()) return FailedPrecondition("the EC2 instance has no IAM role");
    const std::string url = roles_url + PercentEncode(role, SlashEncoding::kEncode);
    ASSIGN_OR_RETURN(const std::string body,
                     SendRequest(transport_, {.method = "GET", .url = url, .headers = headers}, deadline));
    return ParseCredentials(body);
  }

 private:
  http::Transport& transport_;  // outlives this
};

// Returns true for loopback and the fixed addresses of ECS and EKS. (127.example.com is a name, not an address.)
bool IsAgentHost(const std::string& host) {
  const bool is_loopback = host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
  return is_loopback || host == "localhost" || host == "[::1]" || host == "169.254.170.2" || host == "169.254.170.23" ||
         host == "[fd00:ec2::23]";
}

}  // namespace

Result<std::unique_ptr<CredentialSource>> MakeContainerSource(const S3CredentialSettings& settings,
                                                              http::Transport& transport) {
  Result<http::Url> url = http::ParseUrl(settings.container_uri);
  if (!url.ok()) return std::move(url).status().While("reading AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (url->scheme == "http" && !IsAgentHost(url->host)) {
    return InvalidArgument("AWS_CONTAINER_CREDENTIALS_FULL_URI fetches credentials unencrypted from " + url->host +
                           "; expected https, or an address of this machine");
  }
  return std::unique_ptr<CredentialSource>(std::make_unique<ContainerSource>(settings, url->host, transport));
}

std::unique_ptr<CredentialSource> MakeInstanceMetadataSource(http::Transport& transport) {
  return std::make_unique<InstanceSource>(transport);
}

}  // namespace espalier::storage
