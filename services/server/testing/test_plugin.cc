// A plugin for tests: functions and initializers that succeed, fail, block, or end in invalid ways.
#include <cstdlib>
#include <map>
#include <mutex>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "services/plugin/plugin.h"

namespace {

using espalier::plugin::Context;
using espalier::plugin::Error;
using espalier::plugin::Idempotent;
using espalier::plugin::Initializer;
using espalier::plugin::NotIdempotent;
using espalier::plugin::Rows;

std::string Echo(const Context&, std::string_view request) { return std::string(request); }

std::string Throw(const Context&, std::string_view) { throw std::runtime_error("out of luck"); }

std::string Refuse(const Context&, std::string_view) { throw Error(ESPALIER_FAILED_PRECONDITION, "not today\n"); }

// Returns as many bytes as the request says.
std::string Fill(const Context&, std::string_view request) {
  return std::string(std::strtoull(std::string(request).c_str(), nullptr, 10), 'x');
}

// Runs until the caller is gone.
std::string Wait(const Context& context, std::string_view) {
  for (;;) {
    context.ThrowIfCallerGone();
    std::this_thread::yield();
  }
}

// For "NAME FAILURES" returns how often it was called with this request; the first FAILURES calls fail with
// UNAVAILABLE.
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

// Returns a text with everything that a function can see except columns.
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

// Sets element i of rows of any of three dtypes.
void Put(const Rows& rows, size_t i, int64_t value) {
  if (rows.dtype() == ESPALIER_F32) {
    rows.values<float>()[i] = static_cast<float>(value);
  } else if (rows.dtype() == ESPALIER_F64) {
    rows.values<double>()[i] = static_cast<double>(value);
  } else {
    rows.values<int64_t>()[i] = value;
  }
}

int64_t Letters(std::string_view text) { return std::accumulate(text.begin(), text.end(), int64_t{0}); }

// Fills column c with number c mod 6 of the six inputs on which the values of an initializer may depend.
void Fields(const Context&, const Rows& rows) {
  const size_t width = rows.row_size();
  for (size_t row = 0; row < rows.original_ids().size(); ++row) {
    const int64_t fields[] = {static_cast<int64_t>(rows.original_ids()[row]),
                              static_cast<int64_t>(rows.seed()),
                              static_cast<int64_t>(rows.total()),
                              Letters(rows.space()),
                              Letters(rows.stream()),
                              Letters(rows.arguments())};
    for (size_t column = 0; column < width; ++column) Put(rows, row * width + column, fields[column % 6]);
  }
}

// Fills each row with the first value of the node's row of the column "NODETYPE COLUMN".
void CopyColumn(const Context& context, const Rows& rows) {
  std::istringstream words{std::string(rows.arguments())};
  std::string type, column;
  words >> type >> column;
  const espalier::plugin::Array from = context.node_column(context.FindNodeType(type), column);
  for (size_t i = 0; i < rows.values<float>().size(); ++i) {
    const size_t row = rows.first_local() + i / rows.row_size();
    rows.values<float>()[i] = from.values<float>()[row * from.row_size()];
  }
}

// Fails if the row whose original id is in the arguments is among the rows to fill.
void RefuseOne(const Context&, const Rows& rows) {
  const uint64_t refused = std::strtoull(std::string(rows.arguments()).c_str(), nullptr, 10);
  for (const uint64_t id : rows.original_ids()) {
    if (id == refused) throw Error(ESPALIER_NOT_FOUND, "nothing is known of " + std::to_string(id));
  }
}

void ThrowInstead(const Context&, const Rows&) { throw std::runtime_error("out of values"); }

void WaitInstead(const Context& context, const Rows&) {
  for (;;) {
    context.ThrowIfCallerGone();
    std::this_thread::yield();
  }
}

int32_t FillHalf(const EspalierHost*, EspalierCall*, const EspalierRows* rows, size_t* filled_bytes) {
  *filled_bytes = rows->value_bytes / 2;
  return ESPALIER_OK;
}
int32_t FillTooMuch(const EspalierHost*, EspalierCall*, const EspalierRows* rows, size_t* filled_bytes) {
  for (size_t i = 0; i <= rows->value_bytes; ++i) static_cast<char*>(rows->values)[i] = 1;
  *filled_bytes = rows->value_bytes;
  return ESPALIER_OK;
}
int32_t AbortInstead(const EspalierHost*, EspalierCall*, const EspalierRows*, size_t*) { return 10; }

// Functions that do not use the wrappers of plugin.h.
int32_t ThrowAsItIs(const EspalierHost*, EspalierCall*, const void*, size_t) { throw std::runtime_error("as it is"); }
int32_t Abort(const EspalierHost*, EspalierCall*, const void*, size_t) { return 10; }  // gRPC's ABORTED

}  // namespace

ESPALIER_PLUGIN("7.1", Idempotent<Echo>("echo"), Idempotent<Throw>("throw"), Idempotent<Refuse>("refuse"),
                Idempotent<Fill>("fill"), Idempotent<Wait>("wait"), Idempotent<Attempt>("repeated"),
                NotIdempotent<Attempt>("once"), Idempotent<Describe>("describe"),
                EspalierFunctionEntry{"throw-as-it-is", &ThrowAsItIs, 1}, EspalierFunctionEntry{"abort", &Abort, 1},
                Initializer<Fields>("fields"), Initializer<CopyColumn>("column"), Initializer<RefuseOne>("refuse-one"),
                Initializer<ThrowInstead>("throw"), Initializer<WaitInstead>("wait"),
                EspalierInitializerEntry{"half", &FillHalf}, EspalierInitializerEntry{"too-much", &FillTooMuch},
                EspalierInitializerEntry{"abort", &AbortInstead});
