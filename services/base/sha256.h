// SHA-256 (FIPS 180-4), computed by OpenSSL: digests of sources, partitionings and parameters.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

// Computes the digest of the concatenation of all bytes that Update gets. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text);
  // Returns the digest as 64 lower-case hexadecimal digits. The object must not be used afterwards.
  std::string HexDigest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the digest of `text` in the form of HexDigest.
std::string Sha256Hex(std::string_view text);
// Returns whether `text` has the form of a digest: 64 lower-case hexadecimal digits.
bool IsSha256Hex(std::string_view text);

}  // namespace espalier
