// A real API server with the CustomResourceDefinition of crds/disttrainings.yaml (below: "the definition"), and
// functions that send requests to the server.
#pragma once

#include <memory>
#include <string>

#include "operator/client/testing/real_api_server.h"
#include "operator/client/transport.h"

namespace espalier::ctl {

// Shared by all tests of a process, because RealApiServer takes seconds to start. Owned by one thread.
class CrdServer {
 public:
  // Starts the server and installs the definition.
  static Result<std::unique_ptr<CrdServer>> Start();

  struct Answer {
    int code = 0;
    kube::Json body;
    std::string message() const { return kube::StringAt(body, {"message"}); }
  };
  // Returns the response, whatever its code. A failure of the transport has code 0 and a message.
  Answer Send(kube::HttpRequest request);

  // DryCreate and Create send the object as kubectl does: unknown fields are errors. DryCreate stores nothing.
  Answer DryCreate(const kube::Json& object);
  Answer Create(const kube::Json& object);
  Answer Get(const std::string& name);
  Answer Delete(const std::string& name, const std::string& uid);
  Answer Patch(const std::string& name, const kube::Json& merge_patch, const std::string& subresource = "");
  Answer ApplyStatus(const std::string& name, const kube::Json& status, const std::string& field_manager);

  // The responses to client-side and to server-side apply of the definition, and the definition as it is served.
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

// Returns the shared server, which the first call starts. It is stopped after the last test. Returns null, and fails
// the test, if the server does not start.
CrdServer* SharedCrdServer();

// Returns crds/examples/minimal.yaml under another name.
kube::Json MinimalJob(const std::string& name);

}  // namespace espalier::ctl
