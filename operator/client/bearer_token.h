#pragma once

#include <string_view>

#include "services/base/status.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::client {

// Returns the token without surrounding white space. Returns InvalidArgument if it is empty, or contains white space or
// characters that are not printable ASCII: a line break would end the HTTP header and start another. Error messages do
// not contain the token.
Result<telemetry::Secret> ParseBearerToken(std::string_view text);

}  // namespace espalier::ctl::client
