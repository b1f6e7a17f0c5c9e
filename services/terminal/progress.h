// Progress for people: a bar that redraws itself on a terminal, plain lines (few of them) elsewhere, nothing when
// quiet. Goes to standard error, so that standard output stays data.
#pragma once

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>

#include "services/base/clock.h"
#include "services/base/mutex.h"
#include "services/base/work_meter.h"

namespace espalier::terminal {

enum class ProgressStyle { kBar, kLines, kQuiet };
// kBar where `file` is a terminal that can redraw.
ProgressStyle StyleFor(std::FILE* file, bool quiet);

// "[=========>          ]" of `width` characters, brackets included.
std::string BarText(double fraction, int width);
// "7 s", "3 min 20 s", "2 h 5 min"
std::string DurationText(double seconds);
// "1.2 k", "45.1 M": for rates and counts.
std::string CountText(double count);
// "1.2 kB", "45.1 MB"
std::string BytesText(uint64_t bytes);

// Owned by one thread.
class Progress {
 public:
  Progress(ProgressStyle style, std::FILE* out, Clock& clock = Clock::Real())
      : style_(style), out_(out), clock_(clock) {}
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Begins a phase: what went before is over.
  void Begin(const std::string& phase);
  // Begins a phase without a line of its own: for phases that may last no time and come again and again. Does nothing
  // while `phase` goes on.
  void SwitchTo(const std::string& phase);
  // `fraction` of the phase is done (negative: nobody knows). Redraws ten times a second, or prints a line every
  // few seconds; the remaining time is the phase's own so far, extended.
  void Update(double fraction, const std::string& detail);
  // As Update, with the remaining seconds known.
  void Update(double fraction, const std::string& detail, std::optional<double> remaining_seconds);
  // As Update, of work that is metered: the share that is done, "45.1 MB/s" of the phase so far, and the remaining
  // time. Of work of which nothing is known, how long it has taken.
  void Update(const WorkMeter& meter);
  // The last of a phase: a bar is drawn without a pause.
  void UpdateLast(const WorkMeter& meter);
  // Ends the phase with a line: "partitioned in 2 s: 2 partitions ...".
  void End(const std::string& line);
  // A line that stays.
  void Note(const std::string& line);

 private:
  void Clear();
  void Draw(double fraction, const std::string& detail, std::optional<double> remaining_seconds);

  const ProgressStyle style_;
  std::FILE* const out_;
  Clock& clock_;
  std::string phase_;
  SteadyTime phase_start_;
  std::optional<SteadyTime> last_drawn_;
  bool bar_shown_ = false;
};

// Shows what a meter says of a phase, on a thread of its own, from the phase's beginning to the end of the scope.
// Until then nobody else uses `progress`.
class MeteredPhase {
 public:
  MeteredPhase(Progress& progress, const std::string& phase);
  ~MeteredPhase();
  MeteredPhase(const MeteredPhase&) = delete;
  MeteredPhase& operator=(const MeteredPhase&) = delete;

  WorkMeter* meter() { return &meter_; }

 private:
  void ShowUntilOver();

  Progress& progress_;
  WorkMeter meter_;
  Mutex mutex_;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: uses the others
};

}  // namespace espalier::terminal
