// Writes status.progress with a separate field manager, so that a server-side apply of the rest of the status does not
// remove the progress, and a write of the progress does not remove the rest.
#pragma once

#include <string>

#include "operator/api/status.h"
#include "operator/client/api_client.h"
#include "operator/kube/object_meta.h"

namespace espalier::ctl::controller {

inline constexpr char kProgressFieldManager[] = "espalier-operator-progress";

// Writes the progress and returns the resource after the write. `based_on` is a resourceVersion: returns Aborted if the
// resource has changed since then; "": no precondition.
Result<kube::Json> WriteProgress(client::ApiClient& client, const kube::ObjectMeta& training,
                                 const api::Progress& progress, const std::string& based_on);

}  // namespace espalier::ctl::controller
