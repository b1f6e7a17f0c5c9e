#include "operator/client/bearer_token.h"

#include <algorithm>

namespace espalier::ctl::client {

Result<telemetry::Secret> ParseBearerToken(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return InvalidArgument("the token is empty");
  const std::string_view token = text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
  const bool is_printable = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  if (!is_printable)
    return InvalidArgument("the token contains white space, or characters that are not printable ASCII");
  return telemetry::Secret(std::string(token));
}

}  // namespace espalier::ctl::client
