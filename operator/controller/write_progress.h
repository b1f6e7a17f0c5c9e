// Writes status.progress with its own field manager. So a server-side apply of the rest of the status does not remove
// the progress, and a write of the progress does not remove the rest.
#pragma once

#include <string>

#include "operator/api/status.h"
#include "operator/client/api_client.h"
#include "operator/kube/object_meta.h"

namespace espalier::ctl::controller {

inline constexpr char kProgressFieldManager[] = "espalier-operator-progress";

// Returns the resource after the write. Returns Aborted if it has changed since `based_on`, a resourceVersion; "": no
// precondition.
Result<kube::Json> WriteProgress(client::ApiClient& client, const kube::ObjectMeta& training,
                                 const api::Progress& progress, const std::string& based_on);

}  // namespace espalier::ctl::controller
