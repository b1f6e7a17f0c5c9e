// Configuration of a program within a job, read from environment variables:
//
//   ESPALIER_SERVERS          host:port of the graph server of each partition, separated by commas; host-[0-9]:port
//                             means ten; replicas of a partition are joined by '|', the first has the mutable tensors
//   ESPALIER_PARTITIONS       instead of servers: URI of the folder with manifest.json, whose partitions this process
//                             opens itself (standalone.h); uses the variables of storage and ESPALIER_DATA_DIR
//                             (docs/reference/environment.md)
//   ESPALIER_SAMPLERS         host:port of each sampler process, in the syntax of ESPALIER_SERVERS, for loaders that
//                             sample there (loader_batches.h); default: none
//   ESPALIER_RANK             rank of this process, from 0; default: 0
//   ESPALIER_WORLD_SIZE       number of ranks; default: 1
//   ESPALIER_PARTITION_KEY    64 hexadecimal digits; default: that of the servers
//   ESPALIER_INCARNATION      number of restarts of the job so far; default: the newest that the servers have seen
//   ESPALIER_JOB_NAME         name of the job, which separates tensors and incarnations on servers that several jobs
//                             use, and which samplers compare with theirs; default: the unnamed job
//   ESPALIER_ACCESS           auto, rpc or mapped (session.h); default: auto
//   ESPALIER_CONNECT_SECONDS  time limit until the servers are up; default: 60
//   ESPALIER_CALL_SECONDS     time limit of one query with its retries; default: 600
//   ESPALIER_LOCAL_ADDRESS    address at which the other ranks reach this one (init_process_group.h); default: loopback
//   ESPALIER_INSECURE_LISTEN_ANY  true: allow plaintext there although other machines can reach it; default: false
//   ESPALIER_TLS_CA, ESPALIER_TLS_CERTIFICATE, ESPALIER_TLS_KEY, ESPALIER_TLS_JOB
//                             certificate files, and namespace/uid of the job; all four, for mutual TLS with servers
//                             and ranks; default: plaintext
//
// `espalier run -- PROGRAM`, `espalier launch -- PROGRAM` and the operator (spec.trainers.program) set them
// (docs/programs.md).
//
//   ASSIGN_OR_RETURN(const client::Context context, client::Initialize(client::ProcessEnvironment()));
//   ASSIGN_OR_RETURN(const auto graph, client::DistGraph::Open(context));
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "services/base/environment.h"
#include "services/client/session.h"
#include "services/graph/ids.h"

namespace espalier::client {

using Environment = EnvironmentMap;
// Returns the environment variables of this process.
Environment ProcessEnvironment();

// Immutable value; any number of graphs may be opened with it.
struct Context {
  SessionOptions session;
  std::vector<std::string> samplers;  // "host:port" of each sampler process; empty: loaders sample in this process
  Rank rank;
  uint32_t world_size = 1;
  std::string local_address = "127.0.0.1";  // address at which the other ranks reach this one
  bool plaintext_to_others = false;         // allows a plaintext port that other machines can reach
  std::chrono::milliseconds call_timeout{600'000};
};

// Parses the variables; opens no connection. InvalidArgument names the invalid variable, or describes what is wrong
// with a certificate.
Result<Context> Initialize(const Environment& environment);

}  // namespace espalier::client
