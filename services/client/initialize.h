// A program's place in a job, read from its environment:
//
//   ESPALIER_SERVERS          host:port of each partition's graph server, separated by commas; host-[0-9]:port is ten;
//                             several of a partition are joined by '|', the first holds what can be written
//   ESPALIER_PARTITIONS       in place of servers: URI of the folder with manifest.json, whose partitions this process
//                             opens itself (standalone.h), with the variables of storage and ESPALIER_DATA_DIR
//                             (docs/reference/environment.md)
//   ESPALIER_SAMPLERS         host:port of each sampler process, for loaders whose batches are to be drawn there
//                             (loader_batches.h), separated as those of servers; absent: there are none
//   ESPALIER_RANK             this program's number among those that share the work, from 0; absent: 0
//   ESPALIER_WORLD_SIZE       how many there are; absent: 1
//   ESPALIER_PARTITION_KEY    64 hexadecimal digits; absent: whatever the servers hold
//   ESPALIER_INCARNATION      the job's restarts so far; absent: the newest that the servers have seen
//   ESPALIER_JOB_NAME         whose tensors and incarnation are meant, on servers that several jobs use, and for whom
//                             samplers draw; absent: the job without a name
//   ESPALIER_ACCESS           auto, rpc or mapped (session.h); absent: auto
//   ESPALIER_CONNECT_SECONDS  how long to wait for the servers to be up; absent: 60
//   ESPALIER_CALL_SECONDS     how long one question may take, retries included; absent: 600
//   ESPALIER_LOCAL_ADDRESS    address of this machine at which the other ranks find this one (meet.h); absent: loopback
//   ESPALIER_INSECURE_LISTEN_ANY  true: there in plaintext, although other machines reach it; absent: false
//   ESPALIER_TLS_CA, ESPALIER_TLS_CERTIFICATE, ESPALIER_TLS_KEY, ESPALIER_TLS_JOB
//                             files of certificates and namespace/uid of the job: all four, for mutual TLS with servers
//                             and ranks; absent: plaintext
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
// The variables of this process.
Environment ProcessEnvironment();

// Immutable value: any number of graphs may be opened with it, at once or one after another.
struct Context {
  SessionOptions session;
  std::vector<std::string> samplers;  // "host:port" of each; empty: loaders can only draw in this process
  Rank rank;
  uint32_t world_size = 1;
  std::string local_address = "127.0.0.1";  // where the other ranks reach this one
  bool plaintext_to_others = false;         // leave for a plaintext port that other machines reach
  std::chrono::milliseconds call_timeout{600'000};
};

// InvalidArgument names the variable that is wrong, or says what is wrong with a certificate. Connects to nothing yet.
Result<Context> Initialize(const Environment& environment);

}  // namespace espalier::client
