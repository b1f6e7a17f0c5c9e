// The controllers behind FakeCluster::Step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "operator/testing/fake_cluster.h"

namespace espalier::ctl::cluster {

using PodsByOwner = std::map<std::string, std::vector<kube::Json>>;  // by the controller's uid

// Indexed Jobs with backoffLimit 0 and neither podFailurePolicy nor podReplacementPolicy: the first pod that fails, or
// is being deleted, makes the Job a failing one (FailureTarget); it has failed when no pod of it is left running.
class JobController {
 public:
  explicit JobController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& job, const std::vector<kube::Json>& pods);

 private:
  void MakeMissing(const kube::Json& job, const std::vector<kube::Json>& pods);
  FakeCluster& cluster_;
};

// podManagementPolicy Parallel, updateStrategy OnDelete.
class StatefulSetController {
 public:
  explicit StatefulSetController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& set, const std::vector<kube::Json>& pods);

 private:
  FakeCluster& cluster_;
};

// Scheduler and all nodes' kubelets.
class Kubelet {
 public:
  explicit Kubelet(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& pod);

 private:
  void Schedule(const kube::Json& pod);
  void Begin(const kube::Json& pod);
  void Follow(const kube::Json& pod);
  FakeCluster& cluster_;
};

}  // namespace espalier::ctl::cluster
