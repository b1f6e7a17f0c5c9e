#include "operator/kubectl/commands/testing/plugin_world.h"

#include "services/base/check.h"

namespace espalier::ctl::kubectl::testing {
namespace {

client::ApiClientOptions Options() {
  client::ApiClientOptions options;
  options.field_manager = "kubectl-espalier";
  options.qps = 0;
  return options;
}

}  // namespace

PluginWorld::PluginWorld()
    : server({.wall_now = [] { return view::testing::Now(); }}),
      transport(server.Connect("kubectl-espalier")),
      api_(transport, Options(), client_metrics_) {}

void PluginWorld::Put(const kube::Resource& resource, const kube::Json& object) {
  const Status put = server.Put(resource, object);
  ESPALIER_CHECK(put.ok()) << put.ToString();
}

CommandContext PluginWorld::Context() {
  text::Output out;
  out.write = [this](std::string_view text) {
    output += text;
    return Status();
  };
  out.is_terminal = out.can_repaint = is_terminal;
  return {.api = api_,
          .transport = transport,
          .name_space = "ml",
          .environment = environment,
          .out = std::move(out),
          .note = [this](const std::string& line) { notes += line + "\n"; },
          .wall_now = [this] { return now; },
          .pause =
              [this](std::chrono::nanoseconds time) {
                now += std::chrono::duration_cast<std::chrono::microseconds>(time);
                return on_pause && on_pause();
              },
          .stop = stop.get_token()};
}

}  // namespace espalier::ctl::kubectl::testing
