#include "operator/client/transport.h"

#include <strings.h>

namespace espalier::ctl::client {

std::string HttpResponse::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key.size() == name.size() && strncasecmp(key.data(), name.data(), name.size()) == 0) return value;
  }
  return "";
}

}  // namespace espalier::ctl::client
