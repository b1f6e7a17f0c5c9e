// SHA-256 (FIPS 180-4, by OpenSSL): digests of sources, partitionings and parameters.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace espalier {

// Fed in pieces; one thread at a time.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text);
  // 64 lower-case hexadecimal digits. Ends the use of this object.
  std::string HexDigest();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string Sha256Hex(std::string_view text);
// Returns whether `text` is written as such a digest: 64 lower-case hexadecimal digits.
bool IsSha256Hex(std::string_view text);

}  // namespace espalier
