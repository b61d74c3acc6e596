// Controller of ros2_control around the guard: parameters, the topic of the commands, interfaces, diagnostics.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "diagnostic_msgs/msg/diagnostic_array.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "impact_guard/guard.hpp"
#include "impact_guard/impact_guard_parameters.hpp"
#include "impact_guard/mailbox.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "std_msgs/msg/u_int8.hpp"

namespace impact_guard
{

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;
using diagnostic_msgs::msg::DiagnosticArray;
using diagnostic_msgs::msg::DiagnosticStatus;
using diagnostic_msgs::msg::KeyValue;
using std_msgs::msg::Float64MultiArray;
using std_msgs::msg::UInt8;

/// Period in which the state is looked at for the log and the diagnostics, and the publishers are counted.
constexpr std::chrono::milliseconds LOOK{20};
/// Time after which a thread that waits for commands looks whether it is still needed.
constexpr std::chrono::milliseconds WAKE{50};
/// Looks from one diagnostic message to the next, unless the state changes.
constexpr unsigned LOOKS_PER_MESSAGE = 50;

/// Time by a clock that is never set.
Nanoseconds steady_now()
{
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
    .count();
}

/// Controller of the efforts of an arm: commands in on `~/commands`, guarded torques out.
///
/// A cycle neither allocates nor waits: it exchanges commands and reports with other threads through mailboxes.
/// A thread of its own receives: the executor of the controller manager goes through all services of the
/// manager and of its controllers for each message. The executor logs, counts publishers and publishes diagnostics.
class ImpactGuard : public controller_interface::ControllerInterface
{
public:
  ~ImpactGuard() override { stop_receiving(); }

  CallbackReturn on_init() override
  {
    try {
      parameters_ = std::make_shared<ParamListener>(get_node());
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override
  {
    return interfaces(hardware_interface::HW_IF_EFFORT);
  }

  InterfaceConfiguration state_interface_configuration() const override
  {
    return interfaces(hardware_interface::HW_IF_VELOCITY);
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    stop_receiving();  // still receives after an error that was recovered from
    const std::lock_guard lock(executor_);
    try {
      const Params given = parameters_->get_params();
      guard_.emplace(settings_of(given));
      joints_ = given.joints;
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    label_ = label_of(joints_);
    diagnostics_ = get_node()->create_publisher<DiagnosticArray>("/diagnostics", rclcpp::QoS(10));
    // Kept for who subscribes late; in the cycle only a number is handed over.
    states_ = get_node()->create_publisher<UInt8>("~/state", rclcpp::QoS(1).transient_local());
    state_ = std::make_unique<realtime_tools::RealtimePublisher<UInt8>>(states_);
    start_receiving();
    timer_ = get_node()->create_wall_timer(LOOK, [this] { look(); });
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    Vector present{};
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      if (!fits(command_interfaces_, i, hardware_interface::HW_IF_EFFORT) ||
          !fits(state_interfaces_, i, hardware_interface::HW_IF_VELOCITY)) {
        RCLCPP_ERROR(get_node()->get_logger(), "%s lacks its effort command or velocity state", joints_[i].c_str());
        return CallbackReturn::ERROR;
      }
      present[i] = command_interfaces_[i].get_optional().value_or(NOT_KNOWN);
    }
    guard_->reset(steady_now(), present);
    published_ = NOTHING_PUBLISHED;
    return CallbackReturn::SUCCESS;
  }

  /// Leave no torque behind, nor the state of a guard that follows commands.
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    UInt8 message;
    message.data = static_cast<std::uint8_t>(State::WAITING);
    states_->publish(message);
    for (auto & effort : command_interfaces_) {
      if (!effort.set_value(0.0)) {
        RCLCPP_ERROR(get_node()->get_logger(), "%s keeps its last torque", effort.get_name().c_str());
      }
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override
  {
    stop_receiving();
    const std::lock_guard lock(executor_);
    timer_.reset();
    state_.reset();
    states_.reset();
    diagnostics_.reset();
    guard_.reset();
    return CallbackReturn::SUCCESS;
  }

  return_type update(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    Vector velocity;
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      velocity[i] = state_interfaces_[i].get_optional().value_or(NOT_KNOWN);
    }
    const Vector & torque = guard_->update(steady_now(), received_.take(), velocity, one_publisher_);
    for (std::size_t i = 0; i < joints_.size(); ++i) {
      not_written_ += !command_interfaces_[i].set_value(torque[i]);
    }
    reports_.put(guard_->report());
    const auto state = static_cast<int>(guard_->report().state);
    if (state != published_) {
      UInt8 message;
      message.data = static_cast<std::uint8_t>(state);
      // Busy: in the next cycle.
      published_ = state_->try_publish(message) ? state : published_;
    }
    return return_type::OK;
  }

private:
  static constexpr double NOT_KNOWN = std::numeric_limits<double>::quiet_NaN();
  static constexpr int NOTHING_PUBLISHED = -1;

  InterfaceConfiguration interfaces(const std::string & kind) const
  {
    InterfaceConfiguration configuration{controller_interface::interface_configuration_type::INDIVIDUAL, {}};
    for (const std::string & joint : joints_) {
      configuration.names.push_back(joint + "/" + kind);
    }
    return configuration;
  }

  template <class Interfaces>
  bool fits(const Interfaces & found, std::size_t i, const std::string & kind) const
  {
    return i < found.size() && found[i].get_name() == joints_[i] + "/" + kind;
  }

  /// Settings of the guard by the parameters. Raises std::invalid_argument.
  Settings settings_of(const Params & given) const
  {
    Settings s;
    s.size = given.joints.size();
    const auto each_joint = [&s](const std::vector<double> & values, const char * name, Vector & into) {
      if (values.size() != s.size) {
        throw std::invalid_argument(
          std::string(name) + " has " + std::to_string(values.size()) + " values; allowed: " +
          std::to_string(s.size) + ", one for each of the joints");
      }
      std::copy(values.begin(), values.end(), into.begin());
    };
    each_joint(given.torque_limits, "torque_limits", s.torque_limit);
    each_joint(given.torque_rates, "torque_rates", s.torque_step);
    each_joint(given.damping, "damping", s.damping);
    s.doubled_above = given.damping_doubled_above;
    if (get_update_rate() == 0) {
      throw std::invalid_argument("update rate = 0 Hz; allowed: that of the controller manager, above 0");
    }
    for (std::size_t i = 0; i < s.size; ++i) {
      s.torque_step[i] /= get_update_rate();
    }
    s.command_timeout = std::llround(given.command_timeout * 1e9);
    s.recovery_commands = static_cast<std::uint32_t>(given.recovery_commands);
    return s;
  }

  void start_receiving()
  {
    rclcpp::SubscriptionOptions options;
    options.callback_group = get_node()->create_callback_group(rclcpp::CallbackGroupType::MutuallyExclusive, false);
    // Best effort fits publishers of both kinds; only the newest command is of use.
    commands_ = get_node()->create_subscription<Float64MultiArray>(
      "~/commands", rclcpp::QoS(1).best_effort(),
      [this](const Float64MultiArray & message, const rclcpp::MessageInfo & info) { receive(message, info); }, options);
    receiving_ = true;
    // Of the priority of the thread that configures, that of the controller manager.
    receiver_ = std::thread([this, group = options.callback_group, node = get_node()->get_node_base_interface()] {
      rclcpp::executors::SingleThreadedExecutor executor;
      executor.add_callback_group(group, node);
      while (receiving_ && rclcpp::ok()) {
        executor.spin_once(WAKE);
      }
    });
  }

  /// Not with the lock of the callbacks, for which the thread may wait.
  void stop_receiving()
  {
    receiving_ = false;
    if (receiver_.joinable()) {
      receiver_.join();
    }
    const std::lock_guard lock(executor_);
    commands_.reset();
  }

  /// Hand a message over to the cycle. In the thread that receives.
  void receive(const Float64MultiArray & message, const rclcpp::MessageInfo & info)
  {
    const std::lock_guard lock(executor_);
    const auto & gid = info.get_rmw_message_info().publisher_gid.data;
    if (!std::equal(std::begin(gid), std::end(gid), source_.begin())) {
      std::copy(std::begin(gid), std::end(gid), source_.begin());
      ++arriving_.source_changes;
      // Until they have been counted again.
      one_publisher_ = false;
    }
    arriving_.size = message.data.size();
    std::copy_n(message.data.begin(), std::min(message.data.size(), MAX_JOINTS), arriving_.torque.begin());
    const auto & dimensions = message.layout.dim;
    arriving_.other_joints = !dimensions.empty() && for_others(dimensions.front().label, label_);
    arriving_.received = steady_now();
    received_.put(arriving_);
  }

  /// Count publishers, and publish what is new. In a thread of the executor.
  void look()
  {
    const std::lock_guard lock(executor_);
    if (!commands_) {
      return;  // cleaned up in another thread since the timer fired
    }
    const std::size_t publishers = commands_->get_publisher_count();
    one_publisher_ = publishers <= 1;
    const Report * fresh = reports_.take();
    const bool running = fresh != nullptr;
    if (running) {
      const bool changed = fresh->state != seen_.state || fresh->reason != seen_.reason;
      seen_ = *fresh;
      if (changed) {
        log();
        looks_ = 0;
      }
    }
    if (looks_++ % LOOKS_PER_MESSAGE == 0) {
      publish(running, publishers);
    }
  }

  void log() const
  {
    const auto logger = get_node()->get_logger();
    if (seen_.state == State::DAMPING) {
      RCLCPP_WARN(logger, "damping: %s", words_of(seen_.reason));
    } else {
      RCLCPP_INFO(logger, "%s: %s", name_of(seen_.state), words_of(seen_.reason));
    }
  }

  void publish(bool running, std::size_t publishers) const
  {
    DiagnosticStatus status;
    status.name = std::string(get_node()->get_fully_qualified_name()) + ": guard";
    status.level = !running                        ? DiagnosticStatus::STALE
                   : seen_.state != State::ACTIVE  ? DiagnosticStatus::ERROR
                   : publishers > 1                ? DiagnosticStatus::WARN
                                                   : DiagnosticStatus::OK;
    status.message = running ? std::string(name_of(seen_.state)) + ": " + words_of(seen_.reason) : "not active";
    const auto add = [&status](const std::string & key, std::uint64_t count) {
      KeyValue value;
      value.key = key;
      value.value = std::to_string(count);
      status.values.push_back(value);
    };
    add("publishers", publishers);
    add("cycles", seen_.cycles);
    add("commands accepted", seen_.accepted);
    for (const Reason reason : {Reason::WRONG_SIZE, Reason::WRONG_ORDER, Reason::NOT_FINITE}) {
      add(std::string("rejected: ") + words_of(reason), seen_.rejected[static_cast<std::size_t>(reason)]);
    }
    add("changes to damping", seen_.dampings);
    add("cycles at a torque limit", seen_.saturated);
    add("cycles at a torque-rate limit", seen_.rate_limited);
    add("cycles damped without a velocity", seen_.unknown_velocity);
    add("torques not written", not_written_);
    DiagnosticArray message;
    message.header.stamp = get_node()->now();
    message.status.push_back(status);
    diagnostics_->publish(message);
  }

  std::shared_ptr<ParamListener> parameters_;
  std::vector<std::string> joints_;
  std::string label_;

  // Of the cycle.
  std::optional<Guard> guard_;
  std::unique_ptr<realtime_tools::RealtimePublisher<UInt8>> state_;
  int published_ = NOTHING_PUBLISHED;

  // Between the threads.
  Mailbox<Command> received_;
  Mailbox<Report> reports_;
  std::atomic<bool> one_publisher_{true};
  std::atomic<std::uint64_t> not_written_{0};

  // Of the thread that receives, and of the executor.
  std::mutex executor_;  // their callbacks against a reconfiguration in another thread; no cycle takes it
  std::thread receiver_;
  std::atomic<bool> receiving_{false};
  rclcpp::Subscription<Float64MultiArray>::SharedPtr commands_;
  rclcpp::Publisher<UInt8>::SharedPtr states_;
  rclcpp::Publisher<DiagnosticArray>::SharedPtr diagnostics_;
  rclcpp::TimerBase::SharedPtr timer_;
  std::array<std::uint8_t, RMW_GID_STORAGE_SIZE> source_{};
  Command arriving_;
  Report seen_;
  unsigned looks_ = 0;
};

}  // namespace impact_guard

PLUGINLIB_EXPORT_CLASS(impact_guard::ImpactGuard, controller_interface::ControllerInterface)
