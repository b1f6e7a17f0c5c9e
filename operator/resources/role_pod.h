// The pod template that the four roles share: one container with the role's program, of servers perhaps several (the
// document says how many), told everything by environment variables, under the restricted Pod Security standard.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "operator/resources/builders.h"

namespace espalier::ctl::resources {

// `text` as it must stand in a command, an argument or a variable to arrive as it is: the kubelet expands $(NAME).
std::string Literal(const std::string& text);

// Where a program listens on every address of its pod.
std::string AllAddresses(int port);

// What one role's pod has that others' have not.
class RolePod {
 public:
  RolePod(const Context& context, api::Role role, const std::string& program);
  // Of a program of the user's.
  RolePod(const Context& context, api::Role role, const job::Program& program);

  RolePod& Argument(const std::string& argument);                        // in which $(NAME) is a variable
  RolePod& Variable(const std::string& name, const std::string& value);  // literal
  // Of the pod itself, by the downward API: "status.podIP", "metadata.labels['...']".
  RolePod& VariableOfPod(const std::string& name, const std::string& field_path);
  // ESPALIER_THREADS: the processor limit, rounded up; without a limit all of the node.
  RolePod& ThreadsByProcessorLimit();
  RolePod& Label(const std::string& name, const std::string& value);

  RolePod& Document(const std::string& config_map);  // of job.json
  RolePod& Graph();                                  // the servers' addresses, and the job's name to them
  RolePod& ObjectStorage();                          // endpoint, region and credentials
  RolePod& Cache();                                  // a folder for copies of what is in object storage
  // An init container that fetches the script and compares its digest with status.script. Where the status has none,
  // the container's last words give it. A trainer's program finds the script in api::kScriptFolder, read-only.
  RolePod& Script(const job::Script& script);
  // A data port, mutual TLS or leave to do without, and the admin port with its probes.
  RolePod& Peers(const std::string& port_name, int port);
  // The admin port alone, without probes: of a program that works to its end, which nobody is to end before because it
  // was short of processors when it was asked.
  RolePod& AdminPort();
  // Mutual TLS or leave to do without alone: of a program whose ports, if it has any, nobody knows.
  RolePod& Transport();
  RolePod& GracePeriod(std::chrono::seconds grace);
  RolePod& Field(const std::string& name, kube::Json value);  // of the pod's spec

  // With the role's fields of the document, then its template, merged into it. Further containers of the program are
  // the same as the first but for their ports, and share its volumes.
  kube::Json Template() const;

 private:
  kube::Json& container() { return pod_["spec"]["containers"][0]; }
  void Mount(const std::string& name, const std::string& path, bool read_only, kube::Json source);
  kube::Json Twin(kube::Json container, uint32_t number) const;
  kube::Json ScriptContainer(const kube::Json& program) const;
  kube::Json FieldsOfDocument() const;

  const Context& context_;  // outlives this
  const api::Role role_;
  std::string port_name_;  // of Peers
  int port_ = 0;
  kube::Json script_arguments_;  // null: the pod needs no script
  kube::Json pod_;
};

}  // namespace espalier::ctl::resources
