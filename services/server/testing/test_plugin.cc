// A plugin for tests: functions that answer, fail, stall and end in ways that functions should not.
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "services/plugin/plugin.h"

namespace {

using espalier::plugin::Context;
using espalier::plugin::Error;
using espalier::plugin::Idempotent;
using espalier::plugin::NotIdempotent;

std::string Echo(const Context&, std::string_view request) { return std::string(request); }

std::string Throw(const Context&, std::string_view) { throw std::runtime_error("out of luck"); }

std::string Refuse(const Context&, std::string_view) { throw Error(ESPALIER_FAILED_PRECONDITION, "not today\n"); }

// As many bytes as the request says.
std::string Fill(const Context&, std::string_view request) {
  return std::string(std::strtoull(std::string(request).c_str(), nullptr, 10), 'x');
}

// For as long as somebody waits.
std::string Wait(const Context& context, std::string_view) {
  for (;;) {
    context.StopWhereNobodyWaits();
    std::this_thread::yield();
  }
}

// "NAME FAILURES": how often it has been called with that request; the first so many calls end with UNAVAILABLE.
std::string Attempt(const Context&, std::string_view request) {
  static std::mutex mutex;
  static std::map<std::string, int> calls;
  std::istringstream words{std::string(request)};
  std::string name;
  int failures = 0;
  words >> name >> failures;
  const std::lock_guard lock(mutex);
  const int call = ++calls[std::string(request)];
  if (call <= failures) throw Error(ESPALIER_UNAVAILABLE, "call " + std::to_string(call));
  return std::to_string(call);
}

// All that a function can see but columns, in words.
std::string Describe(const Context& context, std::string_view) {
  std::ostringstream text;
  text << "partition " << context.partition() << " of " << context.num_partitions() << "\n";
  for (uint32_t type = 0; type < context.num_node_types(); ++type) {
    const espalier::plugin::Nodes nodes = context.nodes(type);
    const espalier::plugin::Place last = context.locate_node(type, nodes.total - 1);
    text << "nodes " << type << ": " << nodes.count << " from " << nodes.first << " of " << nodes.total << ", ids "
         << nodes.original_ids.size() << ", the last is " << last.local_id << " of " << last.partition << "\n";
  }
  for (uint32_t type = 0; type < context.num_edge_types(); ++type) {
    const EspalierEdgeType names = context.edge_type(type);
    const espalier::plugin::InEdges edges = context.in_edges(type);
    text << "edges " << names.source << ":" << names.relation << ":" << names.destination << " " << names.source_type
         << " " << names.destination_type << ": " << edges.count << " from " << edges.first << " of " << edges.total
         << ", " << edges.indptr.size() << " " << edges.sources.size() << "\n";
  }
  return text.str();
}

// Without plugin.h's care.
int32_t ThrowAsItIs(const EspalierHost*, EspalierCall*, const void*, size_t) { throw std::runtime_error("as it is"); }
int32_t Abort(const EspalierHost*, EspalierCall*, const void*, size_t) { return 10; }  // gRPC's ABORTED

}  // namespace

ESPALIER_PLUGIN("7.1", Idempotent<Echo>("echo"), Idempotent<Throw>("throw"), Idempotent<Refuse>("refuse"),
                Idempotent<Fill>("fill"), Idempotent<Wait>("wait"), Idempotent<Attempt>("repeated"),
                NotIdempotent<Attempt>("once"), Idempotent<Describe>("describe"),
                EspalierFunctionEntry{"throw-as-it-is", &ThrowAsItIs, 1}, EspalierFunctionEntry{"abort", &Abort, 1});
