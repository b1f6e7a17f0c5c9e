// Credentials in the settings (FixedSource), and in the INI files that the AWS tools share (SharedFileSource). A file
// is read at every Fetch, because another program may have renewed its keys.
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/small_file.h"

namespace espalier::storage {
namespace {

using telemetry::Secret;

std::string Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

// Returns the name of the profile whose section begins with `line`: "[name]", or "[profile name]" in the AWS config
// file.
std::string ParseSectionName(const std::string& line) {
  std::string name = Trim(line.substr(1, line.find(']') - 1));
  if (name.starts_with("profile ")) name = Trim(name.substr(8));
  return name;
}

using ProfileSettings = std::map<std::string, std::string>;

// Returns the settings in the profile's section; nullopt if there is no such section. The last value of a repeated
// setting counts. Nested settings, which are the indented lines below "s3 =", count as settings of the profile.
std::optional<ProfileSettings> ReadProfile(const std::string& text, const std::string& profile) {
  std::optional<ProfileSettings> settings;
  bool is_in_profile = false;
  std::istringstream lines(text);
  for (std::string raw; std::getline(lines, raw);) {
    const std::string line = Trim(raw);
    if (line.starts_with('#') || line.starts_with(';')) continue;
    if (line.starts_with('[')) {
      is_in_profile = ParseSectionName(line) == profile;
      if (is_in_profile && !settings) settings.emplace();
      continue;
    }
    const size_t equals = line.find('=');
    if (!is_in_profile || equals == std::string::npos) continue;
    (*settings)[Trim(std::string_view(line).substr(0, equals))] = Trim(std::string_view(line).substr(equals + 1));
  }
  return settings;
}

std::string GetSetting(const ProfileSettings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "" : found->second;
}

std::string FindUnsupportedSetting(const ProfileSettings& settings) {
  if (settings.contains("credential_process")) return "credential_process";
  if (settings.contains("sso_session") || settings.contains("sso_start_url")) return "SSO";
  if (settings.contains("role_arn")) return "a role to assume";
  return "";
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
  bool IsRenewable() const override { return true; }  // another program may renew the keys in the file

  Result<Credentials> Fetch(Deadline) override {
    ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path_));
    const std::optional<ProfileSettings> settings = ReadProfile(text, profile_);
    if (!settings) return FailedPrecondition("there is no section [" + profile_ + "]");
    const Credentials credentials{GetSetting(*settings, "aws_access_key_id"),
                                  Secret(GetSetting(*settings, "aws_secret_access_key")),
                                  Secret(GetSetting(*settings, "aws_session_token")), std::nullopt};
    if (!credentials.access_key_id.empty() && !credentials.secret_access_key.empty()) return credentials;
    const std::string unsupported = FindUnsupportedSetting(*settings);
    return FailedPrecondition("section [" + profile_ + "] does not have both aws_access_key_id and " +
                              "aws_secret_access_key" +
                              (unsupported.empty() ? "" : ": it has " + unsupported + ", which is not supported"));
  }

 private:
  const std::string path_;
  const std::string profile_;
};

}  // namespace

std::string FindUnsupportedProfileSetting(const std::string& path, const std::string& profile) {
  const Result<std::string> text = ReadSmallFile(path);
  const std::optional<ProfileSettings> settings = text.ok() ? ReadProfile(*text, profile) : std::nullopt;
  return settings ? FindUnsupportedSetting(*settings) : "";
}

std::unique_ptr<CredentialSource> MakeFixedSource(const S3CredentialSettings& settings) {
  return std::make_unique<FixedSource>(
      Credentials{settings.access_key_id, settings.secret_access_key, settings.session_token, std::nullopt});
}

std::unique_ptr<CredentialSource> MakeSharedFileSource(std::string path, std::string profile) {
  return std::make_unique<SharedFileSource>(std::move(path), std::move(profile));
}

}  // namespace espalier::storage
