// A job's Secrets of certificates in the cluster: made where they are missing, replaced where they are due.
#pragma once

#include "operator/client/api_client.h"
#include "operator/resources/secrets.h"

namespace espalier::ctl::controller {

// Creates the authority's Secret, or replaces one that cannot be used. AlreadyExists where the name is taken by
// something that is not this job's; Aborted where somebody was faster.
Status MakeAuthority(client::ApiClient& client, const resources::Context& context);

// Creates or replaces the role's certificate, signed by the authority as it stands in the cluster now. NotFound without
// an authority.
Status MakeLeaf(client::ApiClient& client, const resources::Context& context, api::Role role);

}  // namespace espalier::ctl::controller
