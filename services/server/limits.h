// The limits of a server's requests, responses, streams and stored responses, documented in service_limits.h.
#pragma once

#include "services/messages/service_limits.h"

namespace espalier::server {

using messages::ServiceLimits;

}  // namespace espalier::server
