#include "operator/controller/job_certificates.h"

#include <utility>

#include "operator/plan/observed.h"
#include "operator/resources/names.h"

namespace espalier::ctl::controller {
namespace {

kube::ObjectKey KeyOf(const resources::Context& context, const std::string& name) {
  return {context.training.meta.key.name_space, name};
}

// Its metadata, if it is this job's.
Result<kube::ObjectMeta> MetaOfOurs(const kube::Json& secret, const resources::Context& context) {
  ASSIGN_OR_RETURN(kube::ObjectMeta meta, kube::ParseObjectMeta(secret));
  if (plan::IsOurs(meta, context.training)) return meta;
  return AlreadyExists("the Secret " + meta.key.name + " exists and is not this job's");
}

// Somebody was faster, or the answer to our own request was lost: either way it is looked at again.
Status CreateSecret(client::ApiClient& client, const kube::Json& secret) {
  Status status = client.Create(kube::kSecrets, secret).status();
  if (status.code() == StatusCode::kAlreadyExists) return Aborted(status.message());
  return status;
}

// Over what is there, by its resourceVersion: whoever changed it meanwhile is not overwritten.
Status ReplaceSecret(client::ApiClient& client, const kube::ObjectMeta& old, kube::Json secret) {
  secret["metadata"]["uid"] = old.uid;
  secret["metadata"]["resourceVersion"] = old.resource_version;
  return client.Replace(kube::kSecrets, secret).status();
}

}  // namespace

Status MakeAuthority(client::ApiClient& client, const resources::Context& context) {
  const kube::ObjectKey key = KeyOf(context, resources::AuthoritySecretName(context.training.meta.key.name));
  const Result<kube::Json> old = client.Get(kube::kSecrets, key);
  if (!old.ok() && old.status().code() != StatusCode::kNotFound) return old.status();
  if (!old.ok()) {
    ASSIGN_OR_RETURN(const kube::Json secret, resources::MakeAuthoritySecret(context));
    return CreateSecret(client, secret);
  }
  ASSIGN_OR_RETURN(const kube::ObjectMeta meta, MetaOfOurs(*old, context));
  // A good one is never replaced: leaves of two authorities do not trust each other.
  if (resources::FactsOf(*old)) return Status();
  ASSIGN_OR_RETURN(kube::Json secret, resources::MakeAuthoritySecret(context));
  return ReplaceSecret(client, meta, std::move(secret));
}

Status MakeLeaf(client::ApiClient& client, const resources::Context& context, api::Role role) {
  const std::string& job = context.training.meta.key.name;
  ASSIGN_OR_RETURN(const kube::Json authority,
                   client.Get(kube::kSecrets, KeyOf(context, resources::AuthoritySecretName(job))));
  RETURN_IF_ERROR(MetaOfOurs(authority, context).status());
  ASSIGN_OR_RETURN(kube::Json secret, resources::MakeTlsSecret(context, role, authority));
  const Result<kube::Json> old = client.Get(kube::kSecrets, KeyOf(context, resources::TlsSecretName(job, role)));
  if (old.ok()) {
    ASSIGN_OR_RETURN(const kube::ObjectMeta meta, MetaOfOurs(*old, context));
    return ReplaceSecret(client, meta, std::move(secret));
  }
  if (old.status().code() != StatusCode::kNotFound) return old.status();
  return CreateSecret(client, secret);
}

}  // namespace espalier::ctl::controller
