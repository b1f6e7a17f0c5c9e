// What one request may ask for. Beyond it the answer is RESOURCE_EXHAUSTED.
#pragma once

#include "services/messages/service_limits.h"

namespace espalier::server {

using messages::ServiceLimits;

}  // namespace espalier::server
