// The controllers behind FakeCluster::Step.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "operator/testing/fake_cluster.h"

namespace espalier::ctl::cluster {

using Pods = std::vector<std::reference_wrapper<const kube::Json>>;
using PodsByOwner = std::map<std::string, Pods>;  // by the controller's uid

// Indexed Jobs with backoffLimit 0 and neither podFailurePolicy nor podReplacementPolicy: the first pod that fails, or
// is being deleted, makes the Job a failing one (FailureTarget); it has failed when no pod of it is left running.
class JobController {
 public:
  explicit JobController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& job, const Pods& pods);

 private:
  void MakeMissing(const kube::Json& job, const Pods& pods);
  FakeCluster& cluster_;
};

// podManagementPolicy Parallel, updateStrategy OnDelete.
class StatefulSetController {
 public:
  explicit StatefulSetController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& set, const Pods& pods);

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
