#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/small_file.h"

namespace espalier::storage {
namespace {

using telemetry::Secret;

std::string WithoutOuterBlanks(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

// The profile of "[name]"; AWS's config file says "[profile name]".
std::string ProfileOf(const std::string& line) {
  std::string name = WithoutOuterBlanks(line.substr(1, line.find(']') - 1));
  if (name.starts_with("profile ")) name = WithoutOuterBlanks(name.substr(8));
  return name;
}

class FixedSource final : public CredentialSource {
 public:
  explicit FixedSource(Credentials credentials) : credentials_(std::move(credentials)) {}
  std::string Describe() const override { return "settings (AWS_ACCESS_KEY_ID)"; }
  Result<Credentials> Fetch(Deadline) override { return credentials_; }
  bool IsRenewable() const override { return false; }

 private:
  const Credentials credentials_;
};

class SharedFileSource final : public CredentialSource {
 public:
  SharedFileSource(std::string path, std::string profile) : path_(std::move(path)), profile_(std::move(profile)) {}
  std::string Describe() const override { return "shared file " + path_ + ", profile " + profile_; }
  bool IsRenewable() const override { return true; }  // by whoever writes the file

  Result<Credentials> Fetch(Deadline) override {
    ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path_));
    Credentials credentials;
    bool is_in_profile = false, was_in_profile = false;
    std::istringstream lines(text);
    for (std::string raw; std::getline(lines, raw);) {
      const std::string line = WithoutOuterBlanks(raw);
      if (line.starts_with('#') || line.starts_with(';')) continue;
      if (line.starts_with('[')) {
        is_in_profile = ProfileOf(line) == profile_;
        was_in_profile = was_in_profile || is_in_profile;
      } else if (is_in_profile) {
        ReadSetting(line, credentials);
      }
    }
    if (!was_in_profile) return FailedPrecondition("there is no section [" + profile_ + "]");
    if (credentials.access_key_id.empty() || credentials.secret_access_key.empty()) {
      return FailedPrecondition("section [" + profile_ + "] has not both aws_access_key_id and aws_secret_access_key");
    }
    return credentials;
  }

 private:
  static void ReadSetting(const std::string& line, Credentials& credentials) {
    const size_t equals = line.find('=');
    if (equals == std::string::npos) return;
    const std::string name = WithoutOuterBlanks(std::string_view(line).substr(0, equals));
    const std::string value = WithoutOuterBlanks(std::string_view(line).substr(equals + 1));
    if (name == "aws_access_key_id") credentials.access_key_id = value;
    if (name == "aws_secret_access_key") credentials.secret_access_key = Secret(value);
    if (name == "aws_session_token") credentials.session_token = Secret(value);
  }

  const std::string path_;
  const std::string profile_;
};

}  // namespace

std::unique_ptr<CredentialSource> FixedCredentials(const S3CredentialSettings& settings) {
  return std::make_unique<FixedSource>(
      Credentials{settings.access_key_id, settings.secret_access_key, settings.session_token, std::nullopt});
}

std::unique_ptr<CredentialSource> SharedFileCredentials(std::string path, std::string profile) {
  return std::make_unique<SharedFileSource>(std::move(path), std::move(profile));
}

}  // namespace espalier::storage
