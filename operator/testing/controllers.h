// The controllers that FakeCluster::Step runs.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "operator/testing/fake_cluster.h"

namespace espalier::ctl::cluster {

using Pods = std::vector<std::reference_wrapper<const kube::Json>>;
using PodsByOwner = std::map<std::string, Pods>;  // by the uid of the controller

// Supports Indexed Jobs with backoffLimit 0 and without podFailurePolicy and podReplacementPolicy. The first pod that
// fails or is being deleted sets FailureTarget; the Job has failed when all its pods have ended.
class JobController {
 public:
  explicit JobController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& job, const Pods& pods);

 private:
  void MakeMissing(const kube::Json& job, const Pods& pods);
  FakeCluster& cluster_;
};

// Supports podManagementPolicy Parallel and updateStrategy OnDelete.
class StatefulSetController {
 public:
  explicit StatefulSetController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& set, const Pods& pods);

 private:
  FakeCluster& cluster_;
};

// The scheduler and the kubelets of all nodes.
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
