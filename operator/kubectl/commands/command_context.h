// The environment of a command: API server, output, clock, stop requests.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "operator/client/api_client.h"
#include "operator/kube/time.h"
#include "operator/kubectl/text/output.h"
#include "services/base/environment.h"

namespace espalier::ctl::kubectl {

struct CommandContext {
  client::ApiClient& api;            // must outlive the command
  client::HttpTransport& transport;  // for logs, which are not API objects; must outlive the command
  std::string name_space;
  EnvironmentMap environment;
  text::Output out;                              // data, to standard output
  std::function<void(const std::string&)> note;  // writes a line for users to standard error, through text::Printable
  std::function<kube::WallTime()> wall_now;
  // Waits for the given time. Returns false if a stop is requested meanwhile.
  std::function<bool(std::chrono::nanoseconds)> pause;
  std::stop_token stop;
};

}  // namespace espalier::ctl::kubectl
