// /proc/net/tcp and tcp6 list listening sockets with their inode and uid, but without a process. The process is the one
// with a descriptor in /proc/PID/fd that links to "socket:[inode]". These links are readable only for processes of this
// user, or for all processes if this one runs as root.
#include "services/runner/launch/port_holder.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "services/base/file.h"

namespace espalier::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kListening = "0A";  // TCP_LISTEN, as /proc/net/tcp writes it
constexpr size_t kMaxCommandBytes = 200;
constexpr size_t kMaxCommandLineBytes = 8 << 20;  // the kernel limits arguments to 6 MiB

using Address = std::vector<unsigned char>;  // 4 or 16 bytes, network order

bool IsZero(unsigned char byte) { return byte == 0; }

// Returns whether it is an IPv4-mapped address, ::ffff:a.b.c.d.
bool IsMapped(const Address& address) {
  return address.size() == sizeof(in6_addr) && address[10] == 0xff && address[11] == 0xff &&
         std::all_of(address.begin(), address.begin() + 10, IsZero);
}

// Parses a numeric address; an IPv4-mapped one becomes an IPv4 address. Empty if `host` is not a numeric address.
Address ParseAddress(const std::string& host) {
  Address bytes(sizeof(in6_addr));
  if (inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1) {
    return IsMapped(bytes) ? Address(bytes.begin() + 12, bytes.end()) : bytes;
  }
  bytes.resize(sizeof(in_addr));
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ? bytes : Address();
}

// Parses an address in /proc/net/tcp: the kernel prints each 32-bit word of it as a number in host byte order.
Address FromHex(const std::string& hex) {
  Address bytes(hex.size() / 2);
  for (size_t word = 0; word + 8 <= hex.size(); word += 8) {
    const auto value = static_cast<uint32_t>(std::strtoul(hex.substr(word, 8).c_str(), nullptr, 16));
    std::memcpy(bytes.data() + word / 2, &value, sizeof(value));
  }
  return bytes;
}

// Returns whether a socket bound to `bound` may prevent another one from binding `wanted`, which must not be the
// wildcard address. The wildcard address of IPv6 may include IPv4, but not the other way round.
bool Conflicts(const Address& bound, const Address& wanted) {
  if (std::all_of(bound.begin(), bound.end(), IsZero)) return bound.size() >= wanted.size();
  if (bound == wanted) return true;
  return IsMapped(bound) && wanted.size() == 4 && std::equal(wanted.begin(), wanted.end(), bound.begin() + 12);
}

struct Listener {
  std::string inode, uid;
};

// Returns the listening socket in `table`, /proc/net/tcp or tcp6, that prevents another one from binding `wanted`.
std::optional<Listener> FindListener(const char* table, const Address& wanted, uint16_t port) {
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // skips the heading
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    words >> number >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    const size_t colon = local.find(':');
    if (state != kListening || colon == std::string::npos) continue;
    if (std::strtoul(local.c_str() + colon + 1, nullptr, 16) != port) continue;
    if (Conflicts(FromHex(local.substr(0, colon)), wanted)) return Listener{inode, uid};
  }
  return std::nullopt;
}

std::string ReadCommand(const fs::path& process) {
  Result<std::string> words = ReadFile(process / "cmdline", kMaxCommandLineBytes);
  std::string text = words.ok() ? *std::move(words) : std::string();
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return text.substr(0, kMaxCommandBytes);
}

bool HasSocket(const fs::path& process, const std::string& inode) {
  std::error_code error;
  for (fs::directory_iterator at(process / "fd", error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (fs::read_symlink(at->path(), ignored) == "socket:[" + inode + "]") return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> FindPortHolder(const std::string& host, uint16_t port) {
  const Address wanted = ParseAddress(host);
  std::optional<Listener> listener = FindListener("/proc/net/tcp", wanted, port);
  if (!listener.has_value()) listener = FindListener("/proc/net/tcp6", wanted, port);
  if (!listener.has_value()) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    const std::string pid = at->path().filename();
    if (pid.find_first_not_of("0123456789") != std::string::npos || !HasSocket(at->path(), listener->inode)) continue;
    return "process " + pid + " (" + ReadCommand(at->path()) + ")";
  }
  return "a process of uid " + listener->uid;
}

}  // namespace espalier::launch
