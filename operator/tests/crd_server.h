// A real API server that serves crds/disttrainings.yaml, and requests to it.
#pragma once

#include <memory>
#include <string>

#include "operator/client/testing/real_api_server.h"
#include "operator/client/transport.h"

namespace espalier::ctl {

// One for all tests of a process: RealApiServer takes seconds to start. Owned by one thread.
class CrdServer {
 public:
  static Result<std::unique_ptr<CrdServer>> Start();

  struct Answer {
    int code = 0;
    kube::Json body;
    std::string message() const { return kube::StringAt(body, {"message"}); }
  };
  // The answer whatever its code; a failure of the transport is code 0, with a message.
  Answer Send(kube::HttpRequest request);

  // As kubectl sends it: unknown fields are errors. Nothing is stored by a dry run.
  Answer DryCreate(const kube::Json& object);
  Answer Create(const kube::Json& object);
  Answer Get(const std::string& name);
  Answer Delete(const std::string& name, const std::string& uid);
  Answer Patch(const std::string& name, const kube::Json& merge_patch, const std::string& subresource = "");
  Answer ApplyStatus(const std::string& name, const kube::Json& status, const std::string& field_manager);

  // What the two ways of installing answered, and the definition as it is served.
  const Answer& created() const { return created_; }
  const Answer& applied() const { return applied_; }
  const kube::Json& definition() const { return definition_; }

 private:
  Status Install();

  std::unique_ptr<client::RealApiServer> server_;
  std::unique_ptr<client::HttpTransport> transport_;
  Answer created_, applied_;
  kube::Json definition_;
};

// The running one, started with the first test and ended after the last; null, and a failure, where it does not start.
CrdServer* SharedCrdServer();

// crds/examples/minimal.yaml under another name.
kube::Json MinimalJob(const std::string& name);

}  // namespace espalier::ctl
