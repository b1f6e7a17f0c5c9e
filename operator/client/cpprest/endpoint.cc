#include "operator/client/cpprest/endpoint.h"

#include <arpa/inet.h>
#include <cpprest/base_uri.h>

#include <algorithm>
#include <cstring>

#include "services/base/host_port.h"

namespace espalier::ctl::client {
namespace {

int AddressFamily(const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  const std::string without_zone = host.substr(0, host.find('%'));
  if (inet_pton(AF_INET, host.c_str(), address) == 1) return AF_INET;
  if (inet_pton(AF_INET6, without_zone.c_str(), address) == 1) return AF_INET6;
  return AF_UNSPEC;
}

bool IsName(const std::string& host) {
  return !host.empty() && std::all_of(host.begin(), host.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

std::string AddBrackets(const std::string& host) { return AddressFamily(host) == AF_INET6 ? "[" + host + "]" : host; }

Status ParseProxy(const std::string& url, Endpoint& endpoint) {
  try {
    const web::uri proxy(url);
    std::string host = proxy.host();
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    endpoint.address_family = AddressFamily(host);
    if (endpoint.address_family == AF_UNSPEC && !IsName(host)) return InvalidArgument("the proxy's URL has no host");
    if (proxy.scheme() != "http")
      return InvalidArgument("a proxy is supported only with http://, not " + proxy.scheme());
    // No brackets around an IPv6 address (see MakeBaseUri). Without a port the library would connect to port 0.
    endpoint.proxy_uri = "http://" + host + ":" + std::to_string(proxy.port() > 0 ? proxy.port() : 80);
    const std::string& user_info = proxy.user_info();
    const size_t colon = std::min(user_info.find(':'), user_info.size());
    endpoint.proxy_user = web::uri::decode(user_info.substr(0, colon));
    endpoint.proxy_password =
        telemetry::Secret(web::uri::decode(user_info.substr(std::min(colon + 1, user_info.size()))));
    return {};
  } catch (const std::exception&) {
    return InvalidArgument("the proxy's URL is invalid");
  }
}

// Returns the URI of the API server. The library passes the host of the URI to the resolver, including brackets, so
// IPv6 addresses are written without brackets; the library's URI parser accepts this if a port follows. With a proxy
// the library does not resolve the host, and the proxy needs the brackets.
std::string MakeBaseUri(const Connection& connection, bool has_proxy) {
  return std::string(connection.tls ? "https://" : "http://") +
         (has_proxy ? AddBrackets(connection.host) : connection.host) + ":" + std::to_string(connection.port);
}

}  // namespace

Result<Endpoint> ParseEndpoint(const Connection& connection) {
  const int family = AddressFamily(connection.host);
  if (family == AF_UNSPEC && !IsName(connection.host)) {
    return InvalidArgument("\"" + connection.host + "\" is neither a host name nor an address");
  }
  if (connection.port == 0) return InvalidArgument("the API server's port is 0");

  Endpoint endpoint;
  endpoint.address_family = family;
  endpoint.label = AddBrackets(connection.host) + ":" + std::to_string(connection.port);
  const bool has_proxy = !connection.proxy_url.empty();
  endpoint.is_loopback = !has_proxy && IsLoopback(connection.host);
  if (has_proxy) RETURN_IF_ERROR(ParseProxy(connection.proxy_url, endpoint));
  endpoint.base_uri = MakeBaseUri(connection, has_proxy);
  if (family == AF_INET6) endpoint.host_header = endpoint.label;
  return endpoint;
}

}  // namespace espalier::ctl::client
