#pragma once

#include <string_view>

#include "services/base/status.h"
#include "services/telemetry/log.h"

namespace espalier::ctl::client {

// A token without the white space around it. InvalidArgument, without its text, for an empty one, and for one with
// anything but printable ASCII in it: a line break would end the header and begin another.
Result<telemetry::Secret> ParseBearerToken(std::string_view text);

}  // namespace espalier::ctl::client
