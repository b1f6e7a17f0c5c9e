// The places that credentials come from, in AWS's formats and protocols.
#pragma once

#include <memory>
#include <string>

#include "services/http/transport.h"
#include "services/storage/s3/credentials.h"
#include "services/storage/store_settings.h"

namespace espalier::storage {

// The first of the order in store_settings.h that is set up. `transport` outlives it. FailedPrecondition where none is,
// InvalidArgument for settings that are wrong.
Result<std::unique_ptr<CredentialSource>> MakeCredentialSource(const S3Settings& settings, http::Transport& transport);

// Each by itself, as MakeCredentialSource makes them.
std::unique_ptr<CredentialSource> FixedCredentials(const S3CredentialSettings& settings);
// An INI file: aws_access_key_id, aws_secret_access_key and aws_session_token in the section of the profile.
std::unique_ptr<CredentialSource> SharedFileCredentials(std::string path, std::string profile);
// Returns why the profile in the INI file has no keys although it is set up: "credential_process", "SSO", "a role to
// assume". "" where the file cannot be read, or the profile has none of these settings.
std::string UnsupportedProfileSetting(const std::string& path, const std::string& profile);
// STS AssumeRoleWithWebIdentity with the token in a file, which is read anew every time: Kubernetes replaces it.
std::unique_ptr<CredentialSource> WebIdentityCredentials(const S3Settings& settings, http::Transport& transport);
// The agent of EKS or ECS. InvalidArgument for a plain http address that is neither loopback nor theirs.
Result<std::unique_ptr<CredentialSource>> ContainerCredentials(const S3CredentialSettings& settings,
                                                               http::Transport& transport);
// IMDSv2 of an EC2 machine.
std::unique_ptr<CredentialSource> InstanceMetadataCredentials(http::Transport& transport);

}  // namespace espalier::storage
