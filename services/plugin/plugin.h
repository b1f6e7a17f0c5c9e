// C++ interface for plugins: functions over one partition and initializers of tensors. Wraps espalier_plugin.h with
// spans, strings and exceptions.
//
//   std::string Count(const espalier::plugin::Context& context, std::string_view request) {
//     const espalier::plugin::Nodes nodes = context.nodes(context.FindNodeType(request));
//     return std::to_string(nodes.count);
//   }
//   void Ids(const espalier::plugin::Context&, const espalier::plugin::Rows& rows) {
//     const std::span<float> values = rows.values<float>();
//     for (size_t i = 0; i < values.size(); ++i) values[i] = float(rows.original_ids()[i / rows.row_size()]);
//   }
//   std::string Double(const espalier::plugin::Context& context, std::string_view name) {
//     const espalier::plugin::Tensor tensor = context.node_tensor(0, std::string(name));
//     const std::vector<uint64_t> rows = tensor.AllRows();
//     std::vector<float> values = tensor.Read<float>(rows);
//     for (float& value : values) value *= 2;
//     tensor.Assign<float>(rows, values);
//     return {};
//   }
//   ESPALIER_PLUGIN("1.0", espalier::plugin::Idempotent<Count>("count"), espalier::plugin::Initializer<Ids>("ids"),
//                   espalier::plugin::Changing<Double>("double"));
//
// Header-only; depends on the standard library alone and links nothing of Espalier. If a function or initializer throws
// an exception, the call fails: with the code of an Error, or with ESPALIER_INTERNAL for any other exception.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "services/plugin/espalier_plugin.h"

namespace espalier::plugin {

// An error with a status code. A function or initializer throws it to end the call with this error.
class Error : public std::exception {
 public:
  // `code` is a status code of espalier_plugin.h, such as ESPALIER_INVALID_ARGUMENT.
  Error(int32_t code, std::string message) : code_(code), message_(std::move(message)) {}
  int32_t code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  int32_t code_;
  std::string message_;
};

// Returns the Error for an invalid request.
inline Error BadRequest(std::string message) { return {ESPALIER_INVALID_ARGUMENT, std::move(message)}; }

// Returns the dtype of T, or ESPALIER_NO_DTYPE if no dtype corresponds to T. No T corresponds to Bool, F16 or BF16:
// functions access arrays and tensors of these dtypes through espalier_plugin.h, initializers through Rows::bytes.
template <class T>
constexpr uint32_t DTypeOf() {
  if constexpr (std::is_same_v<T, uint8_t>) return ESPALIER_U8;
  if constexpr (std::is_same_v<T, int8_t>) return ESPALIER_I8;
  if constexpr (std::is_same_v<T, int16_t>) return ESPALIER_I16;
  if constexpr (std::is_same_v<T, int32_t>) return ESPALIER_I32;
  if constexpr (std::is_same_v<T, int64_t>) return ESPALIER_I64;
  if constexpr (std::is_same_v<T, float>) return ESPALIER_F32;
  if constexpr (std::is_same_v<T, double>) return ESPALIER_F64;
  if constexpr (std::is_same_v<T, uint16_t>) return ESPALIER_U16;
  if constexpr (std::is_same_v<T, uint32_t>) return ESPALIER_U32;
  if constexpr (std::is_same_v<T, uint64_t>) return ESPALIER_U64;
  return ESPALIER_NO_DTYPE;
}

// View of an array of the server. Indices are not checked.
class Array {
 public:
  Array() = default;
  explicit Array(const EspalierArray& array) : array_(array) {}

  bool exists() const { return array_.dtype != ESPALIER_NO_DTYPE; }
  uint32_t dtype() const { return array_.dtype; }
  std::span<const int64_t> shape() const { return {array_.shape, array_.rank}; }
  size_t size() const {
    size_t count = exists() ? 1 : 0;
    for (const int64_t length : shape()) count *= static_cast<size_t>(length);
    return count;
  }
  // Returns the number of elements of one row: the product of all dimensions except the first.
  size_t row_size() const {
    size_t count = 1;
    for (size_t i = 1; i < array_.rank; ++i) count *= static_cast<size_t>(array_.shape[i]);
    return count;
  }

  // Returns all elements. Throws ESPALIER_FAILED_PRECONDITION if the dtype is not that of T.
  template <class T>
  std::span<const T> values() const {
    static_assert(DTypeOf<T>() != ESPALIER_NO_DTYPE, "arrays have no elements of this type");
    if (array_.dtype != DTypeOf<T>()) {
      throw Error(ESPALIER_FAILED_PRECONDITION, "the array's dtype is " + std::to_string(array_.dtype) + ", not " +
                                                    std::to_string(DTypeOf<T>()) + " (espalier_plugin.h)");
    }
    return {static_cast<const T*>(array_.data), size()};
  }
  // Returns element i of a U32 or U64 array of ids.
  uint64_t id(size_t i) const {
    if (array_.dtype == ESPALIER_U32) return static_cast<const uint32_t*>(array_.data)[i];
    return values<uint64_t>()[i];
  }

 private:
  EspalierArray array_ = {};
};

struct Nodes {
  uint64_t count = 0, first = 0, total = 0;  // as EspalierNodes
  Array original_ids;
};
struct InEdges {
  uint64_t count = 0, first = 0, total = 0;  // as EspalierInEdges
  Array indptr, sources, original_ids;
};
// The partition that owns a node, and the node's local id there.
struct Place {
  uint32_t partition = 0;
  uint64_t local_id = 0;
};

// The owned rows of a mutable tensor of the calling job, addressed by local row numbers 0 to count() - 1. Valid until
// the function returns; not thread-safe. Errors are thrown as Error with the status and message of the host
// (espalier_plugin.h); ESPALIER_INVALID_ARGUMENT if T is not the dtype of the tensor. Not for tensors of Bool, F16 and
// BF16 (DTypeOf).
class Tensor {
 public:
  Tensor(const EspalierHost* host, EspalierCall* call, const EspalierTensor& tensor)
      : host_(host), call_(call), tensor_(tensor) {}

  uint64_t count() const { return tensor_.count; }
  uint64_t first() const { return tensor_.first; }  // global number of local row 0
  uint64_t total() const { return tensor_.total; }  // in all partitions
  uint32_t dtype() const { return tensor_.dtype; }
  std::span<const int64_t> row_shape() const { return {tensor_.row_shape, tensor_.row_rank}; }
  // Returns the number of elements of one row.
  size_t row_size() const {
    size_t size = 1;
    for (const int64_t length : row_shape()) size *= static_cast<size_t>(length);
    return size;
  }
  // Returns 0, 1, ... count() - 1.
  std::vector<uint64_t> AllRows() const {
    std::vector<uint64_t> rows(count());
    std::iota(rows.begin(), rows.end(), uint64_t{0});
    return rows;
  }

  // Returns a consistent snapshot of the rows: [rows.size(), row_size()].
  template <class T>
  std::vector<T> Read(std::span<const uint64_t> rows) const {
    std::vector<T> values(rows.size() * row_size());
    const EspalierTensorRows request = ToTensorRows(rows, values.data(), values.size());
    Check(host_->read_rows(call_, tensor_.number, &request));
    return values;
  }
  // Assign, Add, Min, Max and Or request a change of rows. Only for functions registered with Changing. `values` are
  // [rows.size(), row_size()]. The changes are applied after the function has returned; none is applied if it has
  // thrown or the deadline has passed. A row that occurs several times is changed in the order of `rows`.
  template <class T>
  void Assign(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_ASSIGN, rows, values);
  }
  template <class T>
  void Add(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_ADD, rows, values);
  }
  template <class T>
  void Min(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_MIN, rows, values);
  }
  template <class T>
  void Max(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_MAX, rows, values);
  }
  template <class T>
  void Or(std::span<const uint64_t> rows, std::span<const T> values) const {
    Change(ESPALIER_OR, rows, values);
  }

 private:
  template <class T>
  static EspalierTensorRows ToTensorRows(std::span<const uint64_t> rows, T* values, size_t num_values) {
    static_assert(DTypeOf<T>() != ESPALIER_NO_DTYPE, "tensors have no elements of this type");
    return {rows.data(), rows.size(), values, num_values * sizeof(T), DTypeOf<T>()};
  }
  template <class T>
  void Change(uint32_t how, std::span<const uint64_t> rows, std::span<const T> values) const {
    // change_rows only reads the values.
    const EspalierTensorRows request = ToTensorRows(rows, const_cast<T*>(values.data()), values.size());
    Check(host_->change_rows(call_, tensor_.number, how, &request));
  }
  void Check(int32_t status) const {
    if (status != ESPALIER_OK) throw Error(status, host_->error(call_));
  }

  const EspalierHost* host_;
  EspalierCall* call_;
  EspalierTensor tensor_;
};

// Access to the partition of this server and to the call in progress. Valid until the function or initializer returns;
// not thread-safe.
class Context {
 public:
  Context(const EspalierHost* host, EspalierCall* call) : host_(host), call_(call) {}

  uint32_t partition() const { return host_->partition(call_); }
  uint32_t num_partitions() const { return host_->num_partitions(call_); }
  uint32_t num_node_types() const { return host_->num_node_types(call_); }
  uint32_t num_edge_types() const { return host_->num_edge_types(call_); }

  // The functions from here to locate_node throw ESPALIER_NOT_FOUND if the type, column or node does not exist.

  uint32_t FindNodeType(std::string_view name) const {
    for (uint32_t type = 0; type < num_node_types(); ++type) {
      if (name == host_->node_type_name(call_, type)) return type;
    }
    throw Error(ESPALIER_NOT_FOUND, "no node type '" + std::string(name) + "'");
  }
  // Returns the number of an edge type. `name` is "source:relation:destination" or a relation; of several edge types
  // with this relation, the first is returned.
  uint32_t FindEdgeType(std::string_view name) const {
    for (uint32_t type = 0; type < num_edge_types(); ++type) {
      const EspalierEdgeType edge_type = this->edge_type(type);
      const std::string relation = edge_type.relation;
      if (name == relation || name == edge_type.source + (":" + relation + ":") + edge_type.destination) return type;
    }
    throw Error(ESPALIER_NOT_FOUND, "no edge type '" + std::string(name) + "'");
  }
  EspalierEdgeType edge_type(uint32_t type) const {
    EspalierEdgeType found = {};
    Check(host_->edge_type(call_, type, &found), "edge type", type);
    return found;
  }
  Nodes nodes(uint32_t type) const {
    EspalierNodes found = {};
    Check(host_->nodes(call_, type, &found), "node type", type);
    return {found.count, found.first, found.total, Array(found.original_ids)};
  }
  InEdges in_edges(uint32_t type) const {
    EspalierInEdges found = {};
    Check(host_->in_edges(call_, type, &found), "edge type", type);
    return {found.count,         found.first,          found.total,
            Array(found.indptr), Array(found.sources), Array(found.original_ids)};
  }
  Array node_column(uint32_t type, const std::string& column) const {
    EspalierArray found = {};
    Check(host_->node_column(call_, type, column.c_str(), &found), "column '" + column + "' of node type", type);
    return Array(found);
  }
  Array edge_column(uint32_t type, const std::string& column) const {
    EspalierArray found = {};
    Check(host_->edge_column(call_, type, column.c_str(), &found), "column '" + column + "' of edge type", type);
    return Array(found);
  }
  Place locate_node(uint32_t type, uint64_t global_id) const {
    Place place;
    Check(host_->locate_node(call_, type, global_id, &place.partition, &place.local_id),
          "node " + std::to_string(global_id) + " of node type", type);
    return place;
  }

  // Return a tensor of the calling job. Throw the errors of EspalierHost::find_tensor, such as ESPALIER_NOT_FOUND with
  // a list of the job's tensors.
  Tensor node_tensor(uint32_t type, const std::string& name) const { return Find(ESPALIER_ROWS_OF_NODES, type, name); }
  Tensor edge_tensor(uint32_t type, const std::string& name) const { return Find(ESPALIER_ROWS_OF_EDGES, type, name); }
  Tensor own_tensor(const std::string& name) const { return Find(ESPALIER_ROWS_OF_OWN, 0, name); }

  // Returns the time until the deadline of the call; 0 after it.
  std::chrono::nanoseconds remaining() const { return std::chrono::nanoseconds(host_->remaining_ns(call_)); }
  // Returns whether the deadline has passed or the caller has gone away.
  bool should_stop() const { return host_->should_stop(call_) != 0; }
  // Throws ESPALIER_DEADLINE_EXCEEDED if should_stop(). Long-running functions call it in their loops.
  void ThrowIfCallerGone() const {
    if (should_stop()) throw Error(ESPALIER_DEADLINE_EXCEEDED, "the caller no longer waits for the answer");
  }

 private:
  static void Check(int32_t status, const std::string& what, uint32_t type) {
    if (status != ESPALIER_OK) throw Error(status, "no " + what + " " + std::to_string(type));
  }
  Tensor Find(uint32_t rows_of, uint32_t type, const std::string& name) const {
    EspalierTensor found = {};
    const int32_t status = host_->find_tensor(call_, rows_of, type, name.c_str(), &found);
    if (status != ESPALIER_OK) throw Error(status, host_->error(call_));
    return {host_, call_, found};
  }

  const EspalierHost* host_;
  EspalierCall* call_;
};

// Rows to initialize: a view of EspalierRows, which documents the fields. Valid until the initializer returns.
class Rows {
 public:
  explicit Rows(const EspalierRows& rows) : rows_(rows) {}

  std::string_view space() const { return rows_.space; }
  std::string_view stream() const { return rows_.stream; }
  uint64_t seed() const { return rows_.seed; }
  std::string_view arguments() const { return {static_cast<const char*>(rows_.arguments), rows_.argument_bytes}; }
  uint64_t total() const { return rows_.total; }
  uint64_t first_local() const { return rows_.first_local; }
  std::span<const uint64_t> original_ids() const { return {rows_.original_ids, rows_.count}; }
  std::span<const int64_t> row_shape() const { return {rows_.row_shape, rows_.row_rank}; }
  uint32_t dtype() const { return rows_.dtype; }
  // Returns the number of elements of one row.
  size_t row_size() const {
    size_t count = 1;
    for (const int64_t length : row_shape()) count *= static_cast<size_t>(length);
    return count;
  }

  // Returns the values to write: [rows, row_size()]. Throws ESPALIER_INVALID_ARGUMENT if the dtype is not that of T.
  template <class T>
  std::span<T> values() const {
    static_assert(DTypeOf<T>() != ESPALIER_NO_DTYPE, "tensors have no elements of this type");
    if (rows_.dtype != DTypeOf<T>()) {
      throw BadRequest("the tensor's dtype is " + std::to_string(rows_.dtype) + ", expected " +
                       std::to_string(DTypeOf<T>()) + " (espalier_plugin.h)");
    }
    return {static_cast<T*>(rows_.values), rows_.count * row_size()};
  }
  // Returns the values to write as bytes, for any dtype.
  std::span<std::byte> bytes() const { return {static_cast<std::byte*>(rows_.values), rows_.value_bytes}; }

 private:
  const EspalierRows& rows_;
};

// Calls `body` and returns its status. Converts an exception to an error of the call.
template <class Body>
int32_t CallAndCatch(const EspalierHost* host, EspalierCall* call, Body body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    host->set_error(call, error.what());
    return error.code() == ESPALIER_OK ? int32_t{ESPALIER_INTERNAL} : error.code();
  } catch (const std::exception& error) {
    host->set_error(call, error.what());
  } catch (...) {
    host->set_error(call, "it threw an exception that is not a std::exception");
  }
  return ESPALIER_INTERNAL;
}

// Wraps a C++ function as an EspalierFunction.
template <std::string (*function)(const Context&, std::string_view)>
int32_t Entry(const EspalierHost* host, EspalierCall* call, const void* request, size_t request_bytes) noexcept {
  return CallAndCatch(host, call, [&] {
    const std::string response =
        function(Context(host, call), std::string_view(static_cast<const char*>(request), request_bytes));
    return host->append_response(call, response.data(), response.size());
  });
}

// Wraps a C++ initializer as an EspalierInitializer. An initializer that returns normally must have filled all rows.
template <void (*initializer)(const Context&, const Rows&)>
int32_t InitializerEntry(const EspalierHost* host, EspalierCall* call, const EspalierRows* rows,
                         size_t* filled_bytes) noexcept {
  return CallAndCatch(host, call, [&]() -> int32_t {
    initializer(Context(host, call), Rows(*rows));
    *filled_bytes = rows->value_bytes;
    return ESPALIER_OK;
  });
}

// Entries of functions that do not change tensors. Clients retry a call of an Idempotent function, but not one of a
// NotIdempotent function.
template <std::string (*function)(const Context&, std::string_view)>
constexpr EspalierFunctionEntry Idempotent(const char* name) {
  return {name, &Entry<function>, ESPALIER_IDEMPOTENT};
}
template <std::string (*function)(const Context&, std::string_view)>
constexpr EspalierFunctionEntry NotIdempotent(const char* name) {
  return {name, &Entry<function>, ESPALIER_CALLED_ONCE};
}
// Entry of a function that may change tensors of the calling job. A request that has changed tensors is not run again
// when the client retries it.
template <std::string (*function)(const Context&, std::string_view)>
constexpr EspalierFunctionEntry Changing(const char* name) {
  return {name, &Entry<function>, ESPALIER_CHANGING};
}
template <void (*initializer)(const Context&, const Rows&)>
constexpr EspalierInitializerEntry Initializer(const char* name) {
  return {name, &InitializerEntry<initializer>};
}

// The entries passed to ESPALIER_PLUGIN, divided into functions and initializers, each in the order of the arguments.
template <size_t num_functions, size_t num_initializers>
struct Entries {
  std::array<EspalierFunctionEntry, num_functions> functions = {};
  std::array<EspalierInitializerEntry, num_initializers> initializers = {};
};

template <class... Each>
constexpr auto Sorted(Each... entries) {
  constexpr size_t kFunctions = (size_t{0} + ... + (std::is_same_v<Each, EspalierFunctionEntry> ? 1 : 0));
  Entries<kFunctions, sizeof...(Each) - kFunctions> sorted;
  [[maybe_unused]] size_t functions = 0, initializers = 0;
  const auto add = [&](const auto& entry) {
    if constexpr (std::is_same_v<decltype(entry), const EspalierFunctionEntry&>) {
      sorted.functions[functions++] = entry;
    } else {
      sorted.initializers[initializers++] = entry;
    }
  };
  (add(entries), ...);
  return sorted;
}

}  // namespace espalier::plugin

// Defines the plugin; used once per library, outside of any namespace. Arguments: the version of the plugin, then one
// entry per function and initializer.
#define ESPALIER_PLUGIN(plugin_version, ...)                                                            \
  extern "C" __attribute__((visibility("default"))) const EspalierPlugin* espalier_plugin_v3() {        \
    static constexpr auto kEntries = espalier::plugin::Sorted(__VA_ARGS__);                             \
    static constexpr EspalierPlugin kPlugin = {                                                         \
        ESPALIER_PLUGIN_VERSION, uint32_t{kEntries.functions.size()},    kEntries.functions.data(),     \
        plugin_version,          uint32_t{kEntries.initializers.size()}, kEntries.initializers.data()}; \
    return &kPlugin;                                                                                    \
  }                                                                                                     \
  static_assert(true)
