// What a command has to do with the world.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "operator/client/api_client.h"
#include "operator/kube/time.h"
#include "operator/kubectl/text/output.h"
#include "services/base/environment.h"

namespace espalier::ctl::kubectl {

struct Surroundings {
  client::ApiClient& api;            // both outlive the command
  client::HttpTransport& transport;  // for logs, which are no objects
  std::string name_space;
  EnvironmentMap environment;
  text::Output out;                              // data, to standard output
  std::function<void(const std::string&)> note;  // a line for people, to standard error; made Printable there
  std::function<kube::WallTime()> wall_now;
  // Waits; false where the command was asked to stop meanwhile.
  std::function<bool(std::chrono::nanoseconds)> pause;
  std::stop_token stop;
};

}  // namespace espalier::ctl::kubectl
