/* C interface between a graph server and a plugin, version 3.
 *
 * A plugin is a shared library that exports
 *
 *     const EspalierPlugin* espalier_plugin_v3(void);
 *
 * Only the types of this header cross the interface, so that a plugin may be built with another compiler and standard
 * library than the server. C++ authors include plugin.h, which wraps it. An incompatible change increments the version,
 * here and in the name of the exported function; a server refuses versions that it does not support. This server also
 * supports espalier_plugin_v2, whose functions are ESPALIER_CALLED_ONCE or ESPALIER_IDEMPOTENT and have no access to
 * tensors, and espalier_plugin_v1, which has no initializers either: its EspalierPlugin ends after `version`.
 * Plugins of versions 1 and 2 get the EspalierHost of version 3, which begins with all fields of their version.
 *
 * Functions and initializers run in the server process, on its threads, concurrently (except functions that change
 * tensors, which run one at a time). They must be thread-safe, must not write memory of the host except the rows to be
 * filled, and must not throw. Pointers from the host are valid until the call returns. docs/server-plugins.md has all
 * requirements.
 */
#ifndef ESPALIER_PLUGIN_H_
#define ESPALIER_PLUGIN_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ESPALIER_PLUGIN_VERSION 3

/* Status codes of functions, initializers and host functions. */
enum {
  ESPALIER_OK = 0,
  ESPALIER_INVALID_ARGUMENT = 3,
  ESPALIER_DEADLINE_EXCEEDED = 4, /* stopped because of should_stop */
  ESPALIER_NOT_FOUND = 5,
  ESPALIER_RESOURCE_EXHAUSTED = 8,
  ESPALIER_FAILED_PRECONDITION = 9,
  ESPALIER_OUT_OF_RANGE = 11,
  ESPALIER_INTERNAL = 13,
  ESPALIER_UNAVAILABLE = 14 /* the client retries until its deadline, unless the function is ESPALIER_CALLED_ONCE */
};

/* Data types of array elements. */
enum {
  ESPALIER_NO_DTYPE = 0, /* no such array */
  ESPALIER_BOOL = 1,
  ESPALIER_U8 = 2,
  ESPALIER_I8 = 3,
  ESPALIER_I16 = 4,
  ESPALIER_I32 = 5,
  ESPALIER_I64 = 6,
  ESPALIER_F16 = 7,
  ESPALIER_BF16 = 8,
  ESPALIER_F32 = 9,
  ESPALIER_F64 = 10,
  ESPALIER_U16 = 11,
  ESPALIER_U32 = 12,
  ESPALIER_U64 = 13
};

typedef struct EspalierArray {
  const void* data;     /* row-major, little-endian, aligned; undefined if there are no elements */
  const int64_t* shape; /* [rank] */
  uint32_t rank;
  uint32_t dtype;
} EspalierArray;

/* The owned nodes of one type: local ids 0 to count - 1, global ids first to first + count - 1. */
typedef struct EspalierNodes {
  uint64_t count;
  uint64_t first;
  uint64_t total;             /* in all partitions */
  EspalierArray original_ids; /* U32 or U64 [count]: ids of the input graph, ascending */
} EspalierNodes;

typedef struct EspalierEdgeType {
  const char* source; /* names: "author", "writes", "paper" */
  const char* relation;
  const char* destination;
  uint32_t source_type; /* numbers of the node types */
  uint32_t destination_type;
} EspalierEdgeType;

/* The owned edges of one type, which are the in-edges of owned nodes: global ids first to first + count - 1, in the
 * order of `sources`. The in-edges of local node v of the destination type are at positions indptr[v] to
 * indptr[v + 1] - 1 of `sources`. */
typedef struct EspalierInEdges {
  uint64_t count;
  uint64_t first;
  uint64_t total;             /* in all partitions */
  EspalierArray indptr;       /* U32 or U64 [owned destinations + 1] */
  EspalierArray sources;      /* U32 or U64 [count]: global node ids, of any partition */
  EspalierArray original_ids; /* U32 or U64 [count]: ids of the input graph; ESPALIER_NO_DTYPE: not loaded */
} EspalierInEdges;

/* Row spaces of mutable tensors. */
enum {
  ESPALIER_ROWS_OF_NODES = 0, /* one row per node of a type: local row v belongs to local node v */
  ESPALIER_ROWS_OF_EDGES = 1, /* one row per edge of a type, in the order of EspalierInEdges */
  ESPALIER_ROWS_OF_OWN = 2    /* any number of rows, which belong to no node or edge */
};

/* The owned rows of a mutable tensor of the calling job: local rows 0 to count - 1, global rows first to
 * first + count - 1. Valid for one call, in which it refers to the same tensor even if another tensor gets its name. */
typedef struct EspalierTensor {
  uint32_t number; /* handle for read_rows and change_rows */
  uint32_t dtype;
  const int64_t* row_shape; /* [row_rank]: shape of one row; no dimensions: one value */
  uint32_t row_rank;
  size_t row_bytes; /* of one row */
  uint64_t count;
  uint64_t first;
  uint64_t total; /* in all partitions */
} EspalierTensor;

/* Operations of change_rows that combine given rows with those of a tensor. A floating-point minimum or maximum is
 * NaN if either value is NaN; integers wrap around; for Bool, sum and maximum are "or" and minimum is "and"; OR is for
 * Bool and integers.
 */
enum { ESPALIER_ASSIGN = 0, ESPALIER_ADD = 1, ESPALIER_MIN = 2, ESPALIER_MAX = 3, ESPALIER_OR = 4 };

/* Rows of a tensor and their values. */
typedef struct EspalierTensorRows {
  const uint64_t* rows; /* [count]: local rows, in any order; repeated rows are applied in this order */
  uint64_t count;       /* at most the server's --max-rows, by default 2^24 */
  void* values;         /* [count, row_shape...] row-major, little-endian, aligned */
  size_t value_bytes;   /* count times row_bytes of the tensor */
  uint32_t dtype;       /* of the tensor */
} EspalierTensorRows;

/* One call in progress. */
typedef struct EspalierCall EspalierCall;

/* Functions of the server that a plugin's functions and initializers may call. Types are numbers from 0, in the order
 * of their names. A function with a status returns ESPALIER_OK or an error documented here; if it returns an error, it
 * does not change `out`. The functions up to locate_node return ESPALIER_NOT_FOUND if the type, column or node does not
 * exist. */
typedef struct EspalierHost {
  uint32_t (*partition)(const EspalierCall* call);
  uint32_t (*num_partitions)(const EspalierCall* call);
  uint32_t (*num_node_types)(const EspalierCall* call);
  uint32_t (*num_edge_types)(const EspalierCall* call);
  const char* (*node_type_name)(const EspalierCall* call, uint32_t node_type); /* null: no such type */
  int32_t (*edge_type)(const EspalierCall* call, uint32_t edge_type, EspalierEdgeType* out);
  int32_t (*nodes)(const EspalierCall* call, uint32_t node_type, EspalierNodes* out);
  int32_t (*in_edges)(const EspalierCall* call, uint32_t edge_type, EspalierInEdges* out);
  /* Immutable columns (features, labels, ...) of owned nodes [count, ...] and, if they are loaded, of owned edges. */
  int32_t (*node_column)(const EspalierCall* call, uint32_t node_type, const char* column, EspalierArray* out);
  int32_t (*edge_column)(const EspalierCall* call, uint32_t edge_type, const char* column, EspalierArray* out);
  /* Returns the partition that owns a global id, and its local id there. */
  int32_t (*locate_node)(const EspalierCall* call, uint32_t node_type, uint64_t global_id, uint32_t* partition,
                         uint64_t* local_id);

  /* Returns the nanoseconds until the deadline of the call; 0 after it. */
  int64_t (*remaining_ns)(const EspalierCall* call);
  /* Returns nonzero if the deadline has passed or the caller has gone away. Long-running functions must poll it and
   * return. */
  int32_t (*should_stop)(const EspalierCall* call);
  /* Appends to the response. ESPALIER_RESOURCE_EXHAUSTED: the response would exceed its limit, or there is no memory
   * for it; the call then fails with this error. Not for initializers, which have no response. */
  int32_t (*append_response)(EspalierCall* call, const void* data, size_t size_bytes);
  /* Sets the error message for the caller, at most 1024 bytes. If it is not called and the function returns the error
   * of its last call of find_tensor, read_rows or change_rows, the caller gets the message of `error`. */
  void (*set_error)(EspalierCall* call, const char* message);

  /* Mutable tensors, since version 3. Not for initializers (ESPALIER_FAILED_PRECONDITION).
   *
   * Finds a tensor by row space, type (0 for own rows) and name. ESPALIER_NOT_FOUND: `error` lists the tensors of the
   * job; ESPALIER_INVALID_ARGUMENT: no such row space, or an invalid name; ESPALIER_UNAVAILABLE: the tensor is being
   * created. */
  int32_t (*find_tensor)(EspalierCall* call, uint32_t rows_of, uint32_t type, const char* name, EspalierTensor* out);
  /* Reads rows into rows->values, as one consistent snapshot. ESPALIER_INVALID_ARGUMENT: a row that the partition does
   * not own, another dtype, or a wrong value_bytes; ESPALIER_RESOURCE_EXHAUSTED: too many rows; ESPALIER_NOT_FOUND: the
   * tensor has been dropped; ESPALIER_FAILED_PRECONDITION: this call has a pending change of one of the rows. */
  int32_t (*read_rows)(EspalierCall* call, uint32_t tensor, const EspalierTensorRows* rows);
  /* Requests a change of rows; `how` is ESPALIER_ASSIGN, ESPALIER_ADD, ... Copies the values. The changes of a call are
   * applied after the function has returned ESPALIER_OK, in the order of the requests, each atomically; none is applied
   * if the function returns an error or the deadline has passed. Errors as in read_rows; ESPALIER_INVALID_ARGUMENT also
   * if `how` is unknown or not for this dtype; ESPALIER_FAILED_PRECONDITION: the function is not ESPALIER_CHANGING;
   * ESPALIER_RESOURCE_EXHAUSTED: the changes of the call exceed 64 MiB, counted as 256 bytes per change, 4 per row, and
   * the values. A change_rows that fails does not cancel other changes of the call. */
  int32_t (*change_rows)(EspalierCall* call, uint32_t tensor, uint32_t how, const EspalierTensorRows* rows);
  /* Returns the error message of the last call of find_tensor, read_rows or change_rows; "" if it succeeded. Valid
   * until the next call of one of them. */
  const char* (*error)(const EspalierCall* call);
} EspalierHost;

/* Handles a request; returns ESPALIER_OK or an error. `request` is untrusted: request_bytes bytes from any client. */
typedef int32_t (*EspalierFunction)(const EspalierHost* host, EspalierCall* call, const void* request,
                                    size_t request_bytes);

/* Kinds of functions: whether clients retry calls, and whether the function may change tensors. */
enum {
  ESPALIER_CALLED_ONCE = 0, /* clients do not retry */
  ESPALIER_IDEMPOTENT = 1,  /* clients retry */
  /* May change tensors. Clients retry; a request that has changed tensors is not run again: its response is stored and
   * returned. A server runs one such function at a time, so that reads and writes of one call are not interleaved with
   * those of another. */
  ESPALIER_CHANGING = 2
};

typedef struct EspalierFunctionEntry {
  const char* name; /* [A-Za-z0-9_][A-Za-z0-9_.-]{0,127} */
  EspalierFunction function;
  int32_t kind; /* ESPALIER_CALLED_ONCE, ...; in versions 1 and 2 every value but 0 is ESPALIER_IDEMPOTENT */
} EspalierFunctionEntry;

/* Rows of a tensor to initialize: a contiguous range of the owned rows. */
typedef struct EspalierRows {
  const char* space;     /* row space: "nodes/paper", "edges/author:writes:paper" or "own" */
  const char* stream;    /* key of random values in addition to the seed; usually the name of the tensor */
  uint64_t seed;         /* `seed` and `arguments` are those of the call that creates the tensor */
  const void* arguments; /* argument_bytes untrusted bytes */
  size_t argument_bytes;
  uint64_t total;       /* rows of the tensor in all partitions */
  uint64_t count;       /* rows of this call, at least 1; the rows of a partition may be split over several calls */
  uint64_t first_local; /* nodes and edges: local id of the first row */
  const uint64_t* original_ids; /* [count]: ids of the nodes or edges in the input graph; own rows: global rows */
  const int64_t* row_shape;     /* [row_rank]: shape of one row; no dimensions: one value */
  uint32_t row_rank;
  uint32_t dtype;
  void* values;       /* [count, row_shape...] row-major, little-endian, aligned, zeroed; to be filled */
  size_t value_bytes; /* of all rows, at least 1 */
} EspalierRows;

/* Fills rows. Returns ESPALIER_OK and sets *filled_bytes = rows->value_bytes, or returns an error; then the tensor is
 * not created.
 *
 * The values of a row may depend on its original id, on the fields other than count and first_local, and on the data of
 * its node or edge in the whole graph. They must not depend on partitions, local or global ids, time, or the order of
 * calls. A tensor then has the same values for any partitioning and each time it is created. */
typedef int32_t (*EspalierInitializer)(const EspalierHost* host, EspalierCall* call, const EspalierRows* rows,
                                       size_t* filled_bytes);

typedef struct EspalierInitializerEntry {
  const char* name; /* as for functions; a function may have the same name */
  EspalierInitializer initializer;
} EspalierInitializerEntry;

/* A plugin, which has at least one function or initializer. */
typedef struct EspalierPlugin {
  uint32_t interface_version;             /* ESPALIER_PLUGIN_VERSION */
  uint32_t num_functions;                 /* 0 to 256 */
  const EspalierFunctionEntry* functions; /* ignored if num_functions is 0 */
  const char* version;                    /* of the plugin, for logs; may be null */
  uint32_t num_initializers;              /* 0 to 256 */
  const EspalierInitializerEntry* initializers;
} EspalierPlugin;

typedef const EspalierPlugin* (*EspalierPluginEntry)(void);
#define ESPALIER_PLUGIN_SYMBOL "espalier_plugin_v3"

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_PLUGIN_H_ */
