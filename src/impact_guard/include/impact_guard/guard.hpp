// Guard of the torque commands of an arm: limits, time-out, damping. No ROS, no allocation, no lock, no exception in
// the cycle.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace impact_guard
{

/// Largest number of joints: commands have a fixed size, so that they travel between threads without allocation.
constexpr std::size_t MAX_JOINTS = 16;

/// Values of all joints, in the configured order; entries beyond the number of joints are not used.
using Vector = std::array<double, MAX_JOINTS>;

/// Time by the steady clock of the guard.
using Nanoseconds = std::int64_t;

/// Where the torque comes from.
enum class State : std::uint8_t {
  WAITING = 0,  ///< damping; no regular commands since the activation
  ACTIVE = 1,   ///< following the commands, inside the limits
  DAMPING = 2,  ///< damping; commands ceased, are not acceptable, or come from two sources
};

/// Cause of the present state, and of the rejection of a command.
enum class Reason : std::uint8_t {
  NONE = 0,
  NO_COMMAND = 1,     ///< none since the activation
  TIMEOUT = 2,        ///< none for longer than the time-out
  WRONG_SIZE = 3,     ///< another number of values than joints
  WRONG_ORDER = 4,    ///< labelled with other joints
  NOT_FINITE = 5,     ///< NaN or infinity among the values
  SECOND_SOURCE = 6,  ///< a second publisher sent a command
};
constexpr std::size_t REASONS = 7;

/// Label of a command: the names of its joints in their order.
inline std::string label_of(const std::vector<std::string> & joints)
{
  std::string label;
  for (const std::string & joint : joints) {
    label += (label.empty() ? "" : ",") + joint;
  }
  return label;
}

/// Whether a command with this label is for other joints than those of `own`; an empty one says nothing of joints.
inline bool for_others(const std::string & label, const std::string & own)
{
  return !label.empty() && label != own;
}

/// A command as it was received.
struct Command
{
  std::size_t size = 0;              ///< number of values in the message, which may be more than fit here
  Vector torque{};                   ///< [Nm], without gravity
  bool other_joints = false;         ///< the message names joints, and they are not the configured ones
  Nanoseconds received = 0;          ///< time of receipt
  std::uint64_t source_changes = 0;  ///< changes of the publisher since the start, message by message
};

/// Limits and times of a guard.
struct Settings
{
  std::size_t size = 0;              ///< number of joints
  Vector torque_limit{};             ///< [Nm]
  Vector torque_step{};              ///< [Nm], largest change from one cycle to the next
  Vector damping{};                  ///< D [Nm s/rad]
  double doubled_above = 0.0;        ///< [rad/s], the part of a joint speed above it is damped by 2 D
  Nanoseconds command_timeout = 0;   ///< largest age of a command that is followed
  std::uint32_t recovery_commands = 1;  ///< regular commands before they are followed, again or for the first time
};

/// State of a guard with counts since the activation.
struct Report
{
  State state = State::WAITING;
  Reason reason = Reason::NO_COMMAND;
  std::uint64_t cycles = 0;
  std::uint64_t accepted = 0;                    ///< commands
  std::array<std::uint64_t, REASONS> rejected{};  ///< commands, by reason
  std::uint64_t dampings = 0;                    ///< times that it left ACTIVE
  std::uint64_t saturated = 0;                   ///< cycles in which a torque limit acted
  std::uint64_t rate_limited = 0;                ///< cycles in which a torque-rate limit acted
  std::uint64_t unknown_velocity = 0;            ///< cycles that damped without the velocity of some joint
};

/// Guard of the torques of an arm: takes commands, returns each cycle the torque to write.
///
/// Every output is finite, within `torque_limit`, and differs from the one before by at most `torque_step`, whatever
/// commands, velocities and times come in. While ACTIVE it approaches the newest valid command. In any other state it
/// approaches -D dq, with 2 D for the part of dq above `doubled_above`; zero for a joint whose velocity is not finite.
///
/// ACTIVE begins with the `recovery_commands`-th valid command in a row, from one source, none later than the
/// time-out after the one before. It ends in the first cycle in which the newest valid command is older than the
/// time-out, or in which another source has sent while the command before was that young. After a second source it
/// begins again only while there is one publisher.
class Guard
{
public:
  /// Raises std::invalid_argument, which names the setting, its value and what is allowed.
  explicit Guard(const Settings & settings) : settings_(checked(settings)) {}

  /// Restart, at an activation. Older commands do not count. present: torque [Nm] that the hardware has now; it is
  /// taken for zero where it is not finite.
  void reset(Nanoseconds now, const Vector & present) noexcept
  {
    activated_ = now;
    report_ = Report{};
    newest_ = Command{};
    any_ = false;
    second_source_ = false;
    defect_ = Reason::NONE;
    regular_ = 0;
    for (std::size_t i = 0; i < settings_.size; ++i) {
      output_[i] = std::isfinite(present[i]) ? clamp(present[i], settings_.torque_limit[i]) : 0.0;
    }
  }

  /// Return the torque [Nm] to write in this cycle.
  ///
  /// command: received since the last cycle, or nullptr; velocity: of the joints [rad/s]; one_publisher: the topic has
  /// no second publisher, as far as is known.
  const Vector & update(
    Nanoseconds now, const Command * command, const Vector & velocity, bool one_publisher) noexcept
  {
    ++report_.cycles;
    if (command != nullptr && command->received >= activated_) {
      take(*command);
    }
    decide(now, one_publisher);
    approach(velocity);
    return output_;
  }

  const Report & report() const noexcept { return report_; }

private:
  void take(const Command & command) noexcept
  {
    if (command.source_changes != newest_.source_changes) {
      // A publisher that takes over after silence is a successor, no rival.
      second_source_ = second_source_ || (any_ && timely(command.received));
      newest_.source_changes = command.source_changes;
      regular_ = 0;
    }
    const Reason defect = defect_of(command);
    if (defect != Reason::NONE) {
      ++report_.rejected[static_cast<std::size_t>(defect)];
      defect_ = defect;
      return;
    }
    regular_ = any_ && timely(command.received) ? regular_ + 1 : 1;
    newest_ = command;
    any_ = true;
    defect_ = Reason::NONE;
    ++report_.accepted;
  }

  void decide(Nanoseconds now, bool one_publisher) noexcept
  {
    const bool stale = !any_ || !timely(now);
    if (stale) {
      regular_ = 0;
    }
    const bool regular = regular_ >= settings_.recovery_commands;
    if (regular && one_publisher) {
      second_source_ = false;
    }
    const bool active = report_.state == State::ACTIVE;
    if (second_source_ || stale) {
      if (active) {
        report_.state = State::DAMPING;
        ++report_.dampings;
      }
      report_.reason = second_source_             ? Reason::SECOND_SOURCE
                       : defect_ != Reason::NONE  ? defect_
                       : any_                     ? Reason::TIMEOUT
                                                  : Reason::NO_COMMAND;
    } else if (!active && regular) {
      report_.state = State::ACTIVE;
      report_.reason = Reason::NONE;
    }
  }

  void approach(const Vector & velocity) noexcept
  {
    bool saturated = false;
    bool rate_limited = false;
    bool unknown = false;
    const bool active = report_.state == State::ACTIVE;
    for (std::size_t i = 0; i < settings_.size; ++i) {
      const bool known = std::isfinite(velocity[i]);
      const double desired = active ? newest_.torque[i] : known ? damped(settings_.damping[i], velocity[i]) : 0.0;
      const double target = clamp(desired, settings_.torque_limit[i]);
      const double step = clamp(target - output_[i], settings_.torque_step[i]);
      saturated = saturated || target != desired;
      rate_limited = rate_limited || step != target - output_[i];
      unknown = unknown || !(active || known);
      // The sum of both parts of the difference may miss the target by rounding.
      output_[i] = step == target - output_[i] ? target : output_[i] + step;
    }
    report_.saturated += saturated;
    report_.rate_limited += rate_limited;
    report_.unknown_velocity += unknown;
  }

  /// Torque against a velocity. Strong while the joint is fast, for a short way to rest; weak enough near rest that the
  /// torque, whose rate is limited, does not lag behind a compliant joint and keep it swinging.
  double damped(double damping, double velocity) const noexcept
  {
    const double above = velocity - clamp(velocity, settings_.doubled_above);
    return -damping * velocity - damping * above;
  }

  /// Whether the newest valid command is younger than the time-out at some time, before or after it. A time before it
  /// is that of a cycle which began while the command came in.
  bool timely(Nanoseconds time) const noexcept
  {
    // In unsigned numbers: a difference of any two times is defined.
    const auto later = static_cast<std::uint64_t>(std::max(time, newest_.received));
    const auto earlier = static_cast<std::uint64_t>(std::min(time, newest_.received));
    return later - earlier <= static_cast<std::uint64_t>(settings_.command_timeout);
  }

  Reason defect_of(const Command & command) const noexcept
  {
    if (command.size != settings_.size) {
      return Reason::WRONG_SIZE;
    }
    if (command.other_joints) {
      return Reason::WRONG_ORDER;
    }
    for (std::size_t i = 0; i < settings_.size; ++i) {
      if (!std::isfinite(command.torque[i])) {
        return Reason::NOT_FINITE;
      }
    }
    return Reason::NONE;
  }

  static double clamp(double value, double limit) noexcept { return std::clamp(value, -limit, limit); }

  static const Settings & checked(const Settings & s)
  {
    const auto require = [](bool fits, const std::string & name, double value, const char * allowed) {
      if (!fits) {
        throw std::invalid_argument(name + " = " + std::to_string(value) + "; allowed: " + allowed);
      }
    };
    require(
      s.size >= 1 && s.size <= MAX_JOINTS, "number of joints", static_cast<double>(s.size), "from 1 to 16");
    for (std::size_t i = 0; i < s.size; ++i) {
      const std::string joint = "[" + std::to_string(i) + "]";
      const auto positive = [](double value) { return std::isfinite(value) && value > 0.0; };
      require(positive(s.torque_limit[i]), "torque limit" + joint, s.torque_limit[i], "a finite number of Nm above 0");
      require(positive(s.torque_step[i]), "torque step" + joint, s.torque_step[i], "a finite number of Nm above 0");
      require(
        std::isfinite(s.damping[i]) && s.damping[i] >= 0.0, "damping" + joint, s.damping[i],
        "a finite number of Nm s/rad, at least 0");
    }
    require(
      s.doubled_above >= 0.0, "speed above which the damping is doubled", s.doubled_above,
      "a number of rad/s, at least 0");
    require(
      s.command_timeout > 0, "command time-out", static_cast<double>(s.command_timeout), "a number of ns above 0");
    require(s.recovery_commands >= 1, "recovery commands", s.recovery_commands, "at least 1");
    return s;
  }

  Settings settings_;
  Report report_{};
  Vector output_{};
  Nanoseconds activated_ = 0;
  Command newest_{};             // valid; its source_changes are those of the newest command of any kind
  bool any_ = false;             // there is such a command
  bool second_source_ = false;
  Reason defect_ = Reason::NONE;  // of the commands since then
  std::uint32_t regular_ = 0;    // valid commands in a row, each in time, from one source
};

inline const char * name_of(State state) noexcept
{
  switch (state) {
    case State::WAITING:
      return "waiting";
    case State::ACTIVE:
      return "active";
    case State::DAMPING:
      return "damping";
  }
  return "unknown";
}

inline const char * words_of(Reason reason) noexcept
{
  switch (reason) {
    case Reason::NONE:
      return "commands are followed";
    case Reason::NO_COMMAND:
      return "no command since the activation";
    case Reason::TIMEOUT:
      return "no command for longer than command_timeout";
    case Reason::WRONG_SIZE:
      return "commands of another number of values than joints";
    case Reason::WRONG_ORDER:
      return "commands labelled with other joints";
    case Reason::NOT_FINITE:
      return "commands that are not finite";
    case Reason::SECOND_SOURCE:
      return "commands from a second publisher";
  }
  return "unknown";
}

}  // namespace impact_guard
