#include "services/runner/launch/hosts_file.h"

#include <netdb.h>
#include <sys/socket.h>

#include <iterator>
#include <memory>
#include <set>
#include <sstream>

#include "services/base/byte_order_mark.h"
#include "services/base/file.h"
#include "services/base/parse_number.h"

namespace espalier::launch {
namespace {

constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxHosts = 1024;
constexpr size_t kMaxNameBytes = 255;

// Returns whether the text contains only characters of host names and addresses. Other characters could be interpreted
// as options by ssh or as commands by the shell.
bool IsName(const std::string& text) {
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:%-";
  return !text.empty() && text.size() <= kMaxNameBytes && text.front() != '-' &&
         text.find_first_not_of(kLetters) == std::string::npos;
}

std::string WithoutBrackets(const std::string& text) {
  const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  return bracketed ? text.substr(1, text.size() - 2) : text;
}

// Parses a line into *host. Returns the error, or an empty string.
std::string ParseLine(const std::string& line, Host* host) {
  std::istringstream words(line);
  std::string port, more;
  words >> host->name >> port >> more;
  host->name = WithoutBrackets(host->name);
  if (!IsName(host->name)) return "'" + host->name + "' is neither an address nor a host name";
  if (!more.empty()) return "unexpected '" + more + "' after the port";
  if (port.empty()) return "";
  const auto number = ParseNumber<decltype(Host::port)>(port);
  if (!number) return "port '" + port + "': expected 0 to 65535";
  host->port = *number;
  return "";
}

}  // namespace

Result<std::vector<Host>> ParseHosts(const std::string& file_name, const std::string& text) {
  std::vector<Host> hosts;
  std::set<std::string> names;
  std::string errors;
  if (IsUtf16(text)) return InvalidArgument(file_name + " " + kUtf16Remedy);
  std::istringstream lines{std::string(WithoutByteOrderMark(text))};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Host host;
    std::string error = ParseLine(line, &host);
    if (error.empty() && !names.insert(host.name).second) error = host.name + " occurs twice";
    if (error.empty() && hosts.size() == kMaxHosts) error = "more than " + std::to_string(kMaxHosts) + " hosts";
    if (!error.empty())
      errors += (errors.empty() ? "" : "\n") + file_name + ":" + std::to_string(number) + ": " + error;
    if (errors.size() > 4096) break;
    hosts.push_back(std::move(host));
  }
  if (!errors.empty()) return InvalidArgument(errors);
  if (hosts.empty())
    return InvalidArgument(file_name + " lists no hosts: expected a line 'ADDRESS [PORT]' for each host");
  return hosts;
}

Result<std::vector<Host>> ReadHostsFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes).While("the hosts file"));
  return ParseHosts(path, text);
}

Result<std::string> ResolveAddress(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(name.c_str(), nullptr, &hints, &found); error != 0) {
    return NotFound("host " + name + ": " + gai_strerror(error) +
                    ": write its address in the hosts file instead of its name");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  char address[NI_MAXHOST];
  const int error =
      getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof(address), nullptr, 0, NI_NUMERICHOST);
  if (error != 0) return NotFound("host " + name + ": " + gai_strerror(error));
  return std::string(address);
}

}  // namespace espalier::launch
