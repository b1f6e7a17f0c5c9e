#include "services/base/sha256.h"

#include <openssl/evp.h>

#include "services/base/check.h"

namespace espalier {
namespace {

// Fetched once, because OpenSSL 3 searches its providers at every use of EVP_sha256(), which takes longer than the
// digest of a short text. Never freed, because other threads may use it until the process exits.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return algorithm;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  ESPALIER_CHECK(EVP_DigestInit_ex(state_->context, Algorithm(), nullptr) == 1);
}

Sha256::~Sha256() = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  ESPALIER_CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

void Sha256::Update(std::string_view text) { Update(std::as_bytes(std::span(text.data(), text.size()))); }

std::string Sha256::HexDigest() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  ESPALIER_CHECK(EVP_DigestFinal_ex(state_->context, digest, &length) == 1);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

std::string Sha256Hex(std::string_view text) {
  Sha256 digest;
  digest.Update(text);
  return digest.HexDigest();
}

bool IsSha256Hex(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace espalier
