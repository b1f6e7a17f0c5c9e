// The implementations of CredentialsSource for constant credentials, for files, and for a token with a certificate.
// FileSource caches the credentials for kReadInterval; if it cannot read them again, it keeps the earlier ones and logs
// only the first of consecutive failures.
#include <functional>
#include <utility>

#include "operator/client/bearer_token.h"
#include "operator/client/certificate_pair.h"
#include "operator/client/connection.h"
#include "services/base/file.h"
#include "services/base/mutex.h"

namespace espalier::ctl::client {
namespace {

using std::chrono::seconds;
using telemetry::Secret;

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr seconds kReadInterval{60};
constexpr seconds kRetryInterval{5};  // after a failed read

class FixedSource final : public CredentialsSource {
 public:
  explicit FixedSource(Credentials credentials) : credentials_(std::move(credentials)) {}
  Result<Credentials> Get(Deadline) override { return credentials_; }
  void Reject() override {}

 private:
  const Credentials credentials_;
};

class FileSource final : public CredentialsSource {
 public:
  using Read = std::function<Result<Credentials>()>;
  FileSource(Read read, Clock& clock) : read_(std::move(read)), clock_(clock) {}

  Result<Credentials> Get(Deadline) override {
    MutexLock lock(&mutex_);
    const SteadyTime now = clock_.Now();
    if (current_.has_value() && now < read_again_at_) return *current_;
    Result<Credentials> fresh = read_();
    if (fresh.ok()) {
      current_ = *fresh;
      read_again_at_ = now + kReadInterval;
      is_failing_ = false;
      return fresh;
    }
    if (!current_.has_value()) return fresh;
    read_again_at_ = now + kRetryInterval;
    if (!std::exchange(is_failing_, true)) {
      telemetry::Log(telemetry::Level::kWarning, "cannot read the credentials again; the old ones stay in use",
                     {{"error", fresh.status()}});
    }
    return *current_;
  }

  void Reject() override {
    MutexLock lock(&mutex_);
    read_again_at_ = SteadyTime::min();
  }

 private:
  const Read read_;
  Clock& clock_;
  Mutex mutex_;
  std::optional<Credentials> current_ ABSL_GUARDED_BY(mutex_);
  SteadyTime read_again_at_ ABSL_GUARDED_BY(mutex_) = SteadyTime::min();
  bool is_failing_ ABSL_GUARDED_BY(mutex_) = false;
};

Result<Credentials> ReadToken(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes, FileKinds::kRegular));
  Credentials credentials;
  ASSIGN_OR_RETURN(credentials.bearer_token, ParseBearerToken(text).While(path));
  return credentials;
}

Result<Credentials> ReadCertificate(const std::string& certificate_path, const std::string& key_path) {
  ASSIGN_OR_RETURN(std::string certificate, ReadFile(certificate_path, kMaxFileBytes, FileKinds::kRegular));
  ASSIGN_OR_RETURN(std::string key, ReadFile(key_path, kMaxFileBytes, FileKinds::kRegular));
  RETURN_IF_ERROR(CheckCertificatePair(certificate, key).While(certificate_path + " and " + key_path));
  return Credentials{.client_certificate_pem = std::move(certificate), .client_key_pem = Secret(std::move(key))};
}

class TokenAndCertificateSource final : public CredentialsSource {
 public:
  TokenAndCertificateSource(std::shared_ptr<CredentialsSource> token, std::shared_ptr<CredentialsSource> certificate)
      : token_(std::move(token)), certificate_(std::move(certificate)) {}

  Result<Credentials> Get(Deadline deadline) override {
    ASSIGN_OR_RETURN(Credentials both, certificate_->Get(deadline));
    ASSIGN_OR_RETURN(Credentials token, token_->Get(deadline));
    both.bearer_token = std::move(token.bearer_token);
    return both;
  }
  void Reject() override {
    token_->Reject();
    certificate_->Reject();
  }

 private:
  const std::shared_ptr<CredentialsSource> token_;
  const std::shared_ptr<CredentialsSource> certificate_;
};

}  // namespace

bool HaveSameCertificate(const Credentials& a, const Credentials& b) {
  return a.client_certificate_pem == b.client_certificate_pem && a.client_key_pem.Reveal() == b.client_key_pem.Reveal();
}

std::shared_ptr<CredentialsSource> MakeFixedCredentials(Credentials credentials) {
  return std::make_shared<FixedSource>(std::move(credentials));
}

std::shared_ptr<CredentialsSource> MakeTokenFileSource(std::string path, Clock& clock) {
  return std::make_shared<FileSource>([path = std::move(path)] { return ReadToken(path); }, clock);
}

std::shared_ptr<CredentialsSource> MakeCertificateFileSource(std::string certificate_path, std::string key_path,
                                                             Clock& clock) {
  return std::make_shared<FileSource>(
      [certificate_path = std::move(certificate_path), key_path = std::move(key_path)] {
        return ReadCertificate(certificate_path, key_path);
      },
      clock);
}

std::shared_ptr<CredentialsSource> CombineTokenAndCertificate(std::shared_ptr<CredentialsSource> token,
                                                              std::shared_ptr<CredentialsSource> certificate) {
  return std::make_shared<TokenAndCertificateSource>(std::move(token), std::move(certificate));
}

}  // namespace espalier::ctl::client
