// Hardware of ros2_control whose arm is the simulator of impact_control, in step through shared memory.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "hardware_interface/system_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "impact_sim_hardware/exchange.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

namespace impact_sim_hardware
{

using hardware_interface::CallbackReturn;
using hardware_interface::return_type;

/// Cycles from one attempt to attach to the next.
constexpr unsigned ATTEMPT_CYCLES = 10;

/// A simulated arm: effort in; position, velocity and effort out. As on a Franka, the commanded effort is without
/// gravity, and the measured one with it.
///
/// Until the simulator is there, the states are the initial values of the description. From then on each cycle reads
/// one new sample and answers it. The simulator sets the pace: it publishes its time, which the controller manager has to
/// go by (`use_sim_time`), once the sample of that time is there. A sample that does not come within `timeout` [s] is an
/// error of the hardware, which is then unconfigured; configured and activated again it attaches again.
class SimHardware : public hardware_interface::SystemInterface
{
public:
  CallbackReturn on_init(const hardware_interface::HardwareComponentInterfaceParams & given) override
  {
    if (SystemInterface::on_init(given) != CallbackReturn::SUCCESS) {
      return CallbackReturn::ERROR;
    }
    try {
      timeout_ = nanoseconds_of(parameter("timeout", "1.0"));
      std::vector<std::string> joints;
      for (const auto & joint : get_hardware_info().joints) {
        check(joint);
        joints.push_back(joint.name);
      }
      exchange_.emplace(parameter("shared_memory", ""), joints);
    } catch (const std::invalid_argument & error) {
      RCLCPP_ERROR(get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override
  {
    states_.clear();
    efforts_.clear();
    for (const auto & joint : get_hardware_info().joints) {
      for (const char * kind : {HW_POSITION, HW_VELOCITY, HW_EFFORT}) {
        states_.push_back(get_state_interface_handle(joint.name + "/" + kind));
      }
      efforts_.push_back(get_command_interface_handle(joint.name + "/" + HW_EFFORT));
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override
  {
    waited_ = 0;
    RCLCPP_INFO(get_logger(), "waits for the simulator on %s", parameter("shared_memory", "").c_str());
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override
  {
    exchange_->detach();
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_error(const rclcpp_lifecycle::State &) override
  {
    exchange_->detach();
    return CallbackReturn::SUCCESS;
  }

  return_type read(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    if (!exchange_->attached() && !attach()) {
      return failed_ ? return_type::ERROR : return_type::OK;
    }
    switch (exchange_->await(timeout_)) {
      case Wait::SAMPLE:
        break;
      case Wait::TIMEOUT:
        RCLCPP_ERROR(
          get_logger(), "no sample for %.3f s (parameter timeout): the simulator stands still or is paused",
          static_cast<double>(timeout_) * 1e-9);
        return return_type::ERROR;
      case Wait::GONE:
        RCLCPP_ERROR(get_logger(), "the simulator has ended");
        return return_type::ERROR;
    }
    const Sample & sample = exchange_->sample();
    bool written = true;
    for (std::size_t i = 0; i < efforts_.size(); ++i) {
      written &= set_state(states_[3 * i], sample.position[i], true);
      written &= set_state(states_[3 * i + 1], sample.velocity[i], true);
      written &= set_state(states_[3 * i + 2], sample.effort[i], true);
    }
    return written ? return_type::OK : return_type::ERROR;
  }

  return_type write(const rclcpp::Time &, const rclcpp::Duration &) override
  {
    if (!exchange_->attached()) {
      return return_type::OK;
    }
    Vector effort{};
    for (std::size_t i = 0; i < efforts_.size(); ++i) {
      if (!get_command(efforts_[i], effort[i], true)) {
        return return_type::ERROR;
      }
    }
    exchange_->answer(claimed_ == (1U << efforts_.size()) - 1U, effort);
    return return_type::OK;
  }

  /// Note whose efforts a controller commands: without one the simulated arm stops by itself, as a Franka does.
  return_type perform_command_mode_switch(
    const std::vector<std::string> & start, const std::vector<std::string> & stop) override
  {
    claimed_ = (claimed_ & ~joints_of(stop)) | joints_of(start);
    return return_type::OK;
  }

private:
  static constexpr const char * HW_POSITION = hardware_interface::HW_IF_POSITION;
  static constexpr const char * HW_VELOCITY = hardware_interface::HW_IF_VELOCITY;
  static constexpr const char * HW_EFFORT = hardware_interface::HW_IF_EFFORT;

  bool attach()
  {
    failed_ = false;
    if (waited_++ % ATTEMPT_CYCLES != 0) {
      return false;
    }
    try {
      if (!exchange_->attach()) {
        return false;
      }
    } catch (const std::runtime_error & error) {
      RCLCPP_ERROR(get_logger(), "%s", error.what());
      failed_ = true;
      return false;
    }
    RCLCPP_INFO(get_logger(), "in step with the simulator");
    return true;
  }

  std::string parameter(const std::string & name, const std::string & otherwise) const
  {
    const auto & all = get_hardware_info().hardware_parameters;
    const auto found = all.find(name);
    return found == all.end() ? otherwise : found->second;
  }

  static std::int64_t nanoseconds_of(const std::string & text)
  {
    std::size_t used = 0;
    double seconds = 0.0;
    try {
      seconds = std::stod(text, &used);
    } catch (const std::exception &) {
      used = 0;
    }
    if (used == 0 || used != text.size() || !(seconds >= 0.001 && seconds <= 60.0)) {
      throw std::invalid_argument("timeout = " + text + "; allowed: from 0.001 to 60 s");
    }
    return std::llround(seconds * 1e9);
  }

  /// Raises std::invalid_argument for a joint with other interfaces.
  static void check(const hardware_interface::ComponentInfo & joint)
  {
    const auto named = [](const auto & interfaces) {
      std::string text;
      for (const auto & one : interfaces) {
        text += (text.empty() ? "" : ", ") + one.name;
      }
      return text;
    };
    const std::string commands = named(joint.command_interfaces);
    const std::string states = named(joint.state_interfaces);
    if (commands != "effort" || states != "position, velocity, effort") {
      throw std::invalid_argument(
        joint.name + " with commands " + commands + " and states " + states +
        "; allowed: commands effort and states position, velocity, effort");
    }
  }

  /// Joints whose efforts are among some interfaces: one bit each.
  std::uint32_t joints_of(const std::vector<std::string> & interfaces) const
  {
    std::uint32_t joints = 0;
    for (std::size_t i = 0; i < efforts_.size(); ++i) {
      const bool named = std::find(interfaces.begin(), interfaces.end(), efforts_[i]->get_name()) != interfaces.end();
      joints |= named ? 1U << i : 0U;
    }
    return joints;
  }

  std::optional<Exchange> exchange_;
  std::int64_t timeout_ = 0;
  std::vector<hardware_interface::StateInterface::SharedPtr> states_;  // position, velocity, effort of each joint
  std::vector<hardware_interface::CommandInterface::SharedPtr> efforts_;
  std::atomic<std::uint32_t> claimed_{0};  // one bit a joint
  unsigned waited_ = 0;
  bool failed_ = false;
};

}  // namespace impact_sim_hardware

PLUGINLIB_EXPORT_CLASS(impact_sim_hardware::SimHardware, hardware_interface::SystemInterface)
