// A job's Secrets of certificates in the cluster: made where they are missing, replaced where they are due. A new job
// has none, so each is first created blindly, and looked at only where that says that its name is taken.
#pragma once

#include "operator/client/api_client.h"
#include "operator/resources/secrets.h"

namespace espalier::ctl::controller {

// Creates the authority's Secret, or replaces one that cannot be used; the Secret as it is then. AlreadyExists where
// the name is taken by something that is not this job's; Aborted where somebody was faster.
Result<kube::Json> MakeAuthority(client::ApiClient& client, const resources::Context& context);

// The authority's Secret, with its key. NotFound where there is none; AlreadyExists where it is not this job's.
Result<kube::Json> ReadAuthority(client::ApiClient& client, const resources::Context& context);

// Creates or replaces the role's certificate, signed by `authority`; what is to be known of it. Errors as
// MakeAuthority.
Result<resources::CertificateFacts> MakeLeaf(client::ApiClient& client, const resources::Context& context,
                                             api::Role role, const resources::Authority& authority);

}  // namespace espalier::ctl::controller
