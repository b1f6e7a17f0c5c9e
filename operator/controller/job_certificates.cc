// MakeAuthority and MakeLeaf first try to create the Secret. If the name is taken, they read the existing object. If it
// is this job's Secret, MakeLeaf replaces it, and MakeAuthority replaces it if it cannot be used. The replacement has
// uid and resourceVersion as preconditions, so that two operators, or an operator and a user, cannot overwrite each
// other unnoticed.
#include "operator/controller/job_certificates.h"

#include <optional>
#include <utility>

#include "operator/plan/observed.h"
#include "operator/resources/names.h"

namespace espalier::ctl::controller {
namespace {

kube::ObjectKey ToKey(const resources::Context& context, const std::string& name) {
  return {context.training.meta.key.name_space, name};
}

// Returns the metadata of the Secret, or AlreadyExists if it is not this job's.
Result<kube::ObjectMeta> ParseOwnedMeta(const kube::Json& secret, const resources::Context& context) {
  ASSIGN_OR_RETURN(kube::ObjectMeta meta, kube::ParseObjectMeta(secret));
  if (plan::IsOurs(meta, context.training)) return meta;
  return AlreadyExists("the Secret " + meta.key.name + " exists and is not this job's");
}

// Replaces the Secret `old` by `secret`. Returns Aborted if `old` has changed since it was read.
Status ReplaceSecret(client::ApiClient& client, const kube::ObjectMeta& old, kube::Json secret) {
  secret["metadata"]["uid"] = old.uid;
  secret["metadata"]["resourceVersion"] = old.resource_version;
  return client.Replace(kube::kSecrets, secret).status();
}

// Creates `secret` and returns nullopt, or returns the existing object of that name. Returns Aborted if that object was
// deleted in between.
Result<std::optional<kube::Json>> CreateOrGet(client::ApiClient& client, const kube::ObjectKey& key,
                                              const kube::Json& secret) {
  const Status created = client.Create(kube::kSecrets, secret).status();
  if (created.ok()) return std::optional<kube::Json>();
  if (created.code() != StatusCode::kAlreadyExists) return created;
  Result<kube::Json> there = client.Get(kube::kSecrets, key);
  if (there.ok()) return std::optional(*std::move(there));
  if (there.status().code() == StatusCode::kNotFound) {
    return Aborted("the Secret " + key.name + " was deleted while it was read");
  }
  return std::move(there).status();
}

}  // namespace

Result<kube::Json> MakeAuthority(client::ApiClient& client, const resources::Context& context) {
  const kube::ObjectKey key = ToKey(context, resources::AuthoritySecretName(context.training.meta.key.name));
  ASSIGN_OR_RETURN(kube::Json secret, resources::MakeAuthoritySecret(context));
  ASSIGN_OR_RETURN(std::optional<kube::Json> there, CreateOrGet(client, key, secret));
  if (!there) return secret;
  ASSIGN_OR_RETURN(const kube::ObjectMeta meta, ParseOwnedMeta(*there, context));
  // A usable authority is never replaced: pods whose certificates are from different authorities do not trust each
  // other.
  if (resources::ParseCertificateFacts(*there)) return *std::move(there);
  RETURN_IF_ERROR(ReplaceSecret(client, meta, secret));
  return secret;
}

Result<kube::Json> ReadAuthority(client::ApiClient& client, const resources::Context& context) {
  const kube::ObjectKey key = ToKey(context, resources::AuthoritySecretName(context.training.meta.key.name));
  ASSIGN_OR_RETURN(kube::Json authority, client.Get(kube::kSecrets, key));
  RETURN_IF_ERROR(ParseOwnedMeta(authority, context).status());
  return authority;
}

Result<resources::CertificateFacts> MakeLeaf(client::ApiClient& client, const resources::Context& context,
                                             api::Role role, const resources::Authority& authority) {
  const kube::ObjectKey key = ToKey(context, resources::TlsSecretName(context.training.meta.key.name, role));
  ASSIGN_OR_RETURN(resources::TlsSecret leaf, resources::MakeTlsSecret(context, role, authority));
  ASSIGN_OR_RETURN(const std::optional<kube::Json> there, CreateOrGet(client, key, leaf.secret));
  if (there) {
    ASSIGN_OR_RETURN(const kube::ObjectMeta meta, ParseOwnedMeta(*there, context));
    RETURN_IF_ERROR(ReplaceSecret(client, meta, std::move(leaf.secret)));
  }
  return std::move(leaf.facts);
}

}  // namespace espalier::ctl::controller
