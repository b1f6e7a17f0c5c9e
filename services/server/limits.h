// Limits of one request. A request that exceeds one fails with RESOURCE_EXHAUSTED.
#pragma once

#include "services/messages/service_limits.h"

namespace espalier::server {

using messages::ServiceLimits;

}  // namespace espalier::server
