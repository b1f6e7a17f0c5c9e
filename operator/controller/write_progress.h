// status.progress as it is written: by a field manager of its own, so that neither it nor the rest of the status takes
// the other away.
#pragma once

#include <string>

#include "operator/api/status.h"
#include "operator/client/api_client.h"
#include "operator/kube/object_meta.h"

namespace espalier::ctl::controller {

inline constexpr char kProgressFieldManager[] = "espalier-operator-progress";

// The resource as it is then. Aborted where it has changed since `based_on`, a resourceVersion; "": whatever it is now.
Result<kube::Json> WriteProgress(client::ApiClient& client, const kube::ObjectMeta& training,
                                 const api::Progress& progress, const std::string& based_on);

}  // namespace espalier::ctl::controller
