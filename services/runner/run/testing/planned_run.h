// Test fixture for the recovery plan of a run with 2 servers, 1 sampler and 2 trainers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "services/runner/run/recovery_plan.h"

namespace espalier::run {

inline constexpr ChildId kPartitioner{Role::kPartitioner, 0};
inline constexpr ChildId kServer0{Role::kServer, 0};
inline constexpr ChildId kServer1{Role::kServer, 1};
inline constexpr ChildId kSampler0{Role::kSampler, 0};
inline constexpr ChildId kTrainer0{Role::kTrainer, 0};
inline constexpr ChildId kTrainer1{Role::kTrainer, 1};

inline constexpr auto kReachable = RecoveryPlan::Stores::kReachable, kUnreachable = RecoveryPlan::Stores::kUnreachable;

inline constexpr process::ExitState kDone{0, 0};
inline constexpr process::ExitState kKilled{0, SIGKILL};
inline constexpr process::ExitState kCrashed{0, SIGSEGV};
inline process::ExitState Code(int code) { return {code, 0}; }

// Returns an action as text: "start server-1", "incarnation 2 (total 2, counted 1)", "signal 15 trainer-0",
// "recover server-1 1/3", "probe stores", "succeed", "give up server-1", "give up on stores server-1".
inline std::string Text(const Action& action) {
  struct {
    std::string operator()(const action::Start& a) { return "start " + ToString(a.child); }
    std::string operator()(const action::BeginIncarnation& a) {
      return "incarnation " + std::to_string(a.attempts.incarnation) + " (total " + std::to_string(a.attempts.total) +
             ", counted " + std::to_string(a.attempts.counted) + ")";
    }
    std::string operator()(const action::Signal& a) {
      return "signal " + std::to_string(a.signal_number) + " " + ToString(a.child);
    }
    std::string operator()(const action::Recovering& a) {
      return "recover " + ToString(a.failure.child) + " " + std::to_string(a.attempt) + "/" + std::to_string(a.limit);
    }
    std::string operator()(const action::ProbeStores&) { return "probe stores"; }
    std::string operator()(const action::Succeed&) { return "succeed"; }
    std::string operator()(const action::GiveUp& a) { return "give up " + ToString(a.failure.child); }
    std::string operator()(const action::GiveUpOnStores& a) { return "give up on stores " + ToString(a.failure.child); }
  } visitor;
  return std::visit(visitor, action);
}

// A run of 2 servers, 1 sampler and 2 trainers. Time advances only by NextAfter, NextWhenDue and now_.
class RecoveryPlanTest : public testing::Test {
 protected:
  static PlanOptions Options() {
    PlanOptions options;
    options.servers = 2;
    options.samplers = 1;
    options.trainers = 2;
    options.first_incarnation = 7;
    return options;
  }

  std::vector<std::string> Next() {
    std::vector<std::string> texts;
    for (const Action& action : plan_->Next(now_)) texts.push_back(Text(action));
    return texts;
  }
  std::vector<std::string> NextAfter(std::chrono::milliseconds duration) {
    now_ += duration;
    return Next();
  }
  // Advances the time to WakeAt() and returns the actions then.
  std::vector<std::string> NextWhenDue() {
    EXPECT_TRUE(plan_->WakeAt().has_value());
    if (plan_->WakeAt().has_value()) now_ = *plan_->WakeAt();
    return Next();
  }
  void Ready(ChildId child) { plan_->OnReady(child, now_); }
  void End(ChildId child, process::ExitState exit) { plan_->OnEnded(child, exit, now_); }

  void StoresAre(RecoveryPlan::Stores stores) { plan_->OnStores(stores, now_); }
  // Ends both trainers with exit code 74, as if a store were unreachable, until the plan wants to probe the stores.
  void FailOnTheStore() {
    End(kTrainer1, Code(74));
    End(kTrainer0, Code(74));
    EXPECT_THAT(Next(), testing::ElementsAre(testing::StartsWith("recover trainer-0")));
    EXPECT_THAT(NextWhenDue(), testing::ElementsAre("probe stores"));
  }

  void StartServices() {
    Next();
    End(kPartitioner, kDone);
    Next();
    Ready(kServer0);
    Ready(kServer1);
    Next();
    Ready(kSampler0);
  }
  void StartAll() {
    StartServices();
    StartGroup();
  }
  void StartGroup() {
    Next();
    Ready(kTrainer0);
    Next();
    Ready(kTrainer1);
    EXPECT_THAT(Next(), testing::IsEmpty());
  }
  void Limit(int64_t backoff_limit) {
    PlanOptions options = Options();
    options.backoff_limit = backoff_limit;
    plan_.emplace(options);
  }

  SteadyTime now_{std::chrono::hours(1)};
  std::optional<RecoveryPlan> plan_{Options()};
};

}  // namespace espalier::run
