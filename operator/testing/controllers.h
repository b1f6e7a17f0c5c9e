// The controllers that FakeCluster::Step runs. operator/kube/testing/workload_controllers.h decides for the Job and
// StatefulSet controllers; the classes here carry the decisions out on an API server's objects.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "operator/kube/testing/workload_controllers.h"
#include "operator/testing/fake_cluster.h"

namespace espalier::ctl::cluster {

using Pods = std::vector<std::reference_wrapper<const kube::Json>>;
using PodsByOwner = std::map<std::string, Pods>;  // by the uid of the controller

// The label that contains the ordinal of a StatefulSet's pod.
inline constexpr const char* kOrdinalLabel = "apps.kubernetes.io/pod-index";

// Returns the number in a label of a pod; 0 without the label.
int64_t NumberLabel(const kube::Json& pod, const char* name);

// Pods as values, for the decisions of controllers.
class ParsedPods {
 public:
  // `index_label` is the label that contains a pod's index. `counted` contains the uids of the pods that the Job
  // controller must not count again as succeeded or failed.
  ParsedPods(const Pods& pods, const char* index_label, const std::set<std::string>& counted);

  std::span<const kube::testing::WorkloadPod> views() const { return views_; }

 private:
  std::vector<kube::Pod> pods_;
  std::vector<kube::testing::WorkloadPod> views_;  // references pods_
};

class JobController {
 public:
  explicit JobController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& object, const Pods& pods);

 private:
  FakeCluster& cluster_;
};

class StatefulSetController {
 public:
  explicit StatefulSetController(FakeCluster& cluster) : cluster_(cluster) {}
  void Sync(const kube::Json& object, const Pods& pods);

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
  // Marks the containers of a running pod ready, or ends or restarts them if its program has ended.
  void Follow(const kube::Json& pod);
  FakeCluster& cluster_;
};

}  // namespace espalier::ctl::cluster
