// What an administrator lets the pods of DistTrainings use. Without a policy a document may name any image, and any
// service account and Secret of its namespace.
//
// The rules hold for references of the finished pod templates that the document makes (fields of roles, templates,
// storage, TLS), and for the fields of roles without pods. What the operator adds by itself, as its images, the job's
// own account and certificates, is allowed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/dist_training.h"

namespace espalier::ctl::controller {

// Everything is allowed by a policy that is default-made.
struct PodPolicy {
  // Names of accounts besides the job's own; nullopt: all.
  std::optional<std::vector<std::string>> service_accounts;
  // A registry, path or image that an image's name begins with, up to a '/', ':' or '@'; nullopt: all.
  std::optional<std::vector<std::string>> images;
  // "key=value" or "key": a label that Secrets must have; empty: none.
  std::string secret_label;
  // Where scripts of programs come from: "s3://bucket/prefix", up to a '/'; "ConfigMap/NAME", or "ConfigMap" for all of
  // the job's namespace; nullopt: anywhere.
  std::optional<std::vector<std::string>> scripts;
  // The storage.s3.endpoint of jobs with a script, where `scripts` is set; empty: neither that nor a region.
  std::string script_endpoint;

  bool allows_everything() const { return !service_accounts && !images && secret_label.empty() && !scripts; }
};

bool AllowsImage(const PodPolicy& policy, const std::string& image);
bool AllowsScript(const PodPolicy& policy, const job::Script& script);

// A reference to something that a policy may forbid.
struct PodReference {
  enum class Kind { kServiceAccount, kImage, kSecret };
  Kind kind;
  std::string name;
  std::string path;  // "containers[0].image"
};
// Returns all references in a pod spec or a part of a document, by the names of fields: so the sources of volumes that
// this program does not know are covered as well.
std::vector<PodReference> FindPodReferences(const kube::Json& json);

// Returns the labels of a Secret of the job's namespace; nullopt: there is none of that name.
using LabelsOfSecret =
    std::function<Result<std::optional<std::map<std::string, std::string>>>(const std::string& name)>;

// Returns what `pod_spec`, the finished one of `role` or its part of the document, uses against the policy: a line for
// each, with the path in the document. Errors are those of `labels_of_secret`, which is asked only where the policy has
// a label.
Result<std::vector<std::string>> PodPolicyViolations(const PodPolicy& policy, const kube::Json& document_spec,
                                                     api::Role role, const kube::Json& pod_spec,
                                                     const LabelsOfSecret& labels_of_secret);

// Returns a line for each field of a valid document that breaks the policy on scripts: another place, another object
// storage, or what could put another script in its place.
std::vector<std::string> ScriptPolicyViolations(const PodPolicy& policy, const api::Spec& spec);

}  // namespace espalier::ctl::controller
