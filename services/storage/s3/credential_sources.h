// The sources of credentials, in the formats and protocols of AWS.
#pragma once

#include <memory>
#include <string>

#include "services/http/transport.h"
#include "services/storage/s3/credentials.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

// Returns the first configured source in the order of store_settings.h; `transport` must outlive the source.
// FailedPrecondition if no source is configured; InvalidArgument for invalid settings.
Result<std::unique_ptr<CredentialSource>> MakeCredentialSource(const S3Settings& settings, http::Transport& transport);

// The sources from which MakeCredentialSource chooses:

// The access key in the settings.
std::unique_ptr<CredentialSource> MakeFixedSource(const S3CredentialSettings& settings);
// An INI file: aws_access_key_id, aws_secret_access_key and aws_session_token in the section of the profile.
std::unique_ptr<CredentialSource> MakeSharedFileSource(std::string path, std::string profile);
// Returns the unsupported setting from which the AWS tools get credentials for the profile in the INI file:
// "credential_process", "SSO" or "a role to assume". Returns "" if the file cannot be read or has no such setting.
std::string FindUnsupportedProfileSetting(const std::string& path, const std::string& profile);
// STS AssumeRoleWithWebIdentity with the token in a file. The file is read every time, because Kubernetes replaces it.
std::unique_ptr<CredentialSource> MakeWebIdentitySource(const S3Settings& settings, http::Transport& transport);
// The agent of EKS or ECS. InvalidArgument for an http:// address that is neither loopback nor that of an agent.
Result<std::unique_ptr<CredentialSource>> MakeContainerSource(const S3CredentialSettings& settings,
                                                              http::Transport& transport);
// IMDSv2 of an EC2 instance.
std::unique_ptr<CredentialSource> MakeInstanceMetadataSource(http::Transport& transport);

}  // namespace espalier::storage
