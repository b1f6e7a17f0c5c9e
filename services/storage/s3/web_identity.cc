// Credentials from AssumeRoleWithWebIdentity of STS: the request is an unsigned form with the token, the response is
// XML (docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html).
#include <pugixml.hpp>

#include "services/base/percent_encoding.h"
#include "services/storage/s3/bucket.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/errors.h"
#include "services/storage/s3/small_file.h"

namespace espalier::storage {
namespace {

using telemetry::Secret;

Result<Credentials> ParseStsResponse(const std::string& body) {
  pugi::xml_document document;
  if (!document.load_buffer(body.data(), body.size())) return DataLoss("the response is not XML");
  const pugi::xml_node node = document.document_element().child("AssumeRoleWithWebIdentityResult").child("Credentials");
  Credentials credentials{.access_key_id = node.child_value("AccessKeyId"),
                          .secret_access_key = Secret(node.child_value("SecretAccessKey")),
                          .session_token = Secret(node.child_value("SessionToken")),
                          .expires = ParseExtendedUtc(node.child_value("Expiration"))};
  const bool is_complete = !credentials.access_key_id.empty() && !credentials.secret_access_key.empty() &&
                           !credentials.session_token.empty() && credentials.expires.has_value();
  if (!is_complete) return DataLoss("the response has no complete credentials");
  return credentials;
}

class WebIdentitySource final : public CredentialSource {
 public:
  WebIdentitySource(const S3Settings& settings, http::Transport& transport)
      : role_arn_(settings.credentials.role_arn),
        session_name_(settings.credentials.role_session_name.empty() ? "espalier"
                                                                     : settings.credentials.role_session_name),
        token_file_(settings.credentials.web_identity_token_file),
        url_((settings.credentials.sts_endpoint.empty() ? AwsOrigin("sts", settings.region)
                                                        : settings.credentials.sts_endpoint) +
             "/"),
        transport_(transport) {}

  std::string Describe() const override { return "web identity of role " + role_arn_; }
  bool IsRenewable() const override { return true; }

  Result<Credentials> Fetch(Deadline deadline) override {
    ASSIGN_OR_RETURN(const std::string token, ReadSmallFile(token_file_));
    const auto encoded = [](const std::string& text) { return PercentEncode(text, SlashEncoding::kEncode); };
    const std::string form = "Action=AssumeRoleWithWebIdentity&RoleArn=" + encoded(role_arn_) +
                             "&RoleSessionName=" + encoded(session_name_) +
                             "&Version=2011-06-15&WebIdentityToken=" + encoded(token);
    const http::Request request{.method = "POST",
                                .url = url_,
                                .headers = {{"content-type", "application/x-www-form-urlencoded"}},
                                .body = std::as_bytes(std::span(form))};
    ASSIGN_OR_RETURN(const http::Response response, transport_.Send(request, {.deadline = deadline}));
    if (response.status == 200) return ParseStsResponse(response.body);
    return ClassifyError(ParseError(response));
  }

 private:
  // Unavailable if STS could not reach the token's issuer, because the call may then succeed later. Errors that are not
  // retryable become PermissionDenied, because they concern the credentials, not the objects that are read with them.
  Status ClassifyError(S3Error error) const {
    const bool is_issuer_unreachable =
        error.code == "IDPCommunicationError" ||
        (error.code == "InvalidIdentityToken" && error.message.find("retrieve verification key") != std::string::npos);
    error.message.clear();  // may quote the token
    const Status status = ToStatus(error, "sending a request to " + url_);
    if (is_issuer_unreachable) return Unavailable(status.message());
    return IsRetryable(status.code()) ? status : Status(StatusCode::kPermissionDenied, status.message());
  }

  const std::string role_arn_;
  const std::string session_name_;
  const std::string token_file_;
  const std::string url_;
  http::Transport& transport_;  // outlives this
};

}  // namespace

std::unique_ptr<CredentialSource> MakeWebIdentitySource(const S3Settings& settings, http::Transport& transport) {
  return std::make_unique<WebIdentitySource>(settings, transport);
}

}  // namespace espalier::storage
