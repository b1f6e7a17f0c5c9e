// The flags of espalier-operator, each with an environment variable.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "operator/client/connection.h"
#include "operator/controller/pod_policy.h"
#include "operator/resources/builders.h"
#include "operator/resources/job_defaults.h"
#include "services/base/environment.h"
#include "services/base/status.h"

namespace espalier::ctl::process {

struct OperatorFlags {
  std::string name_space;  // empty: the pod's own, or the context's
  bool cluster_wide = false;
  std::string kubeconfig;  // a path; empty: the pod's account, else $KUBECONFIG, else ~/.kube/config
  std::string context;     // of the kubeconfig; if set, the pod's account is not used; empty: current-context

  bool leader_elect = true;
  std::string lease_name = "espalier-operator";
  std::string lease_namespace;  // empty: the pod's own, or the context's
  int lease_seconds = 10;
  int lease_renew_seconds = 7;
  int lease_retry_seconds = 2;

  int workers = 4;
  double qps = 50;  // requests to the API server per second; 0: no limit
  double burst = 100;
  int drain_seconds = 30;

  std::string core_image = "espalier-core:0.1.0";        // of partitioner, servers and samplers
  std::string trainer_image = "espalier-trainer:0.1.0";  // with libtorch
  std::string trainer_cuda_image;                        // of trainers that may use CUDA; empty: trainer_image
  std::string image_pull_policy = "IfNotPresent";        // of a job's pods, unless a role's template says otherwise
  std::vector<std::string> image_pull_secrets;           // in each job's namespace, besides those of templates
  std::string cluster_domain = "cluster.local";
  std::string gpu_resource = resources::kGpuResource;  // extended resource that spec.trainers.gpus counts
  bool gang_scheduling = false;                        // pods of a role start all-or-nothing, by PodGroups
  bool kueue = false;                                  // jobs with a queue label wait for Kueue's admission
  std::string job_defaults;                            // a file; empty: none
  std::vector<std::string> allowed_service_accounts;   // empty: all; "-": only the jobs' own
  std::vector<std::string> allowed_images;   // registries, paths or names; empty: all; "-": only the operator's
  std::vector<std::string> allowed_scripts;  // sources; empty: all; "-": none
  // With allowed_scripts: the storage endpoint that a job with a script in object storage must have. Empty: such a job
  // must set neither an endpoint nor a region.
  std::string script_endpoint;
  std::string secret_label;  // "key" or "key=value", of the Secrets that a job may name; empty: any Secret

  std::string admin_listen = "127.0.0.1:0";
  std::string metrics_listen;       // of /metrics over HTTPS; empty: the admin port serves it
  std::string metrics_certificate;  // a PEM file; empty: the process makes a certificate
  std::string metrics_key;          // a PEM file
  std::string log_format = "auto";
};

// Adds all flags. Parsing stores their values in *flags, which must outlive the parsing.
void AddOperatorFlags(CLI::App& app, OperatorFlags* flags);

// Returns InvalidArgument if a flag is invalid or flags contradict each other. The message names them.
Status CheckOperatorFlags(const OperatorFlags& flags);

// Returns the connection to the API server. It is made from --kubeconfig if that is given; else from the pod's service
// account, unless --context is given or the process is not in a pod; else from the files that kubectl reads.
Result<client::Connection> MakeConnection(const OperatorFlags& flags, const EnvironmentMap& environment);

// Reads the file of --job-defaults. Errors name the file and the field.
Result<resources::JobDefaults> ReadJobDefaults(const OperatorFlags& flags);

controller::PodPolicy MakePodPolicy(const OperatorFlags& flags);

// Returns the namespace to watch; "": all namespaces.
std::string WatchedNamespace(const OperatorFlags& flags, const client::Connection& connection);

}  // namespace espalier::ctl::process
