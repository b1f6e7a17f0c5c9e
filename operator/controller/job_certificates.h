// Creates and renews the Secrets with a job's certificates. A new job has no Secrets, so each is created without a GET;
// only if the API server returns AlreadyExists, the existing Secret is read.
#pragma once

#include "operator/client/api_client.h"
#include "operator/resources/secrets.h"

namespace espalier::ctl::controller {

// Creates the Secret of the certificate authority, or replaces the job's existing Secret if that cannot be used.
// Returns the Secret as it is afterwards. Returns AlreadyExists if an object of another owner has the name; Aborted if
// another writer changed the Secret at the same time.
Result<kube::Json> MakeAuthority(client::ApiClient& client, const resources::Context& context);

// Returns the Secret of the certificate authority, with its private key. Returns NotFound if it does not exist;
// AlreadyExists if it is not this job's.
Result<kube::Json> ReadAuthority(client::ApiClient& client, const resources::Context& context);

// Makes a certificate for `role`, signed by `authority`, and creates the role's Secret with it or replaces the existing
// Secret. Returns the facts about the certificate. Errors are those of MakeAuthority.
Result<resources::CertificateFacts> MakeLeaf(client::ApiClient& client, const resources::Context& context,
                                             api::Role role, const resources::Authority& authority);

}  // namespace espalier::ctl::controller
