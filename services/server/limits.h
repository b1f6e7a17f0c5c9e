// Limits of one request. A request beyond them fails with RESOURCE_EXHAUSTED.
#pragma once

#include "services/messages/service_limits.h"

namespace espalier::server {

using messages::ServiceLimits;

}  // namespace espalier::server
