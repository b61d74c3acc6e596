// Answers each joint state with an empty command, and does nothing else: `bench_echo` of impact_control, in C++.

#include <sched.h>

#include <cstdio>
#include <cstring>
#include <cerrno>
#include <memory>

#include <rclcpp/rclcpp.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_msgs/msg/float64_multi_array.hpp>

namespace
{

// SCHED_FIFO of the loop node, see impact_control/nodes/runtime.py.
constexpr int LOOP_PRIORITY = 40;
constexpr std::size_t JOINTS = 7;

class PingPong : public rclcpp::Node
{
public:
  PingPong()
  : Node("ping_pong")
  {
    answer_.data.assign(JOINTS, 0.0);
    publisher_ = create_publisher<std_msgs::msg::Float64MultiArray>(
      "effort_controller/commands", rclcpp::QoS(1).reliable());
    subscription_ = create_subscription<sensor_msgs::msg::JointState>(
      "joint_states", rclcpp::QoS(1).best_effort(),
      [this](sensor_msgs::msg::JointState::ConstSharedPtr) {publisher_->publish(answer_);});
  }

private:
  std_msgs::msg::Float64MultiArray answer_;
  rclcpp::Publisher<std_msgs::msg::Float64MultiArray>::SharedPtr publisher_;
  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr subscription_;
};

// As the loop: its priority, and the last of the cores it may use.
void keep_real_time()
{
  const sched_param parameters{LOOP_PRIORITY};
  if (sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
    std::fprintf(stderr, "no real-time scheduling: %s\n", std::strerror(errno));
    return;
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    return;
  }
  for (int core = CPU_SETSIZE - 1; core >= 0; --core) {
    if (CPU_ISSET(core, &allowed)) {
      cpu_set_t last;
      CPU_ZERO(&last);
      CPU_SET(core, &last);
      sched_setaffinity(0, sizeof(last), &last);
      return;
    }
  }
}

}  // namespace

int main(int argc, char ** argv)
{
  keep_real_time();
  rclcpp::init(argc, argv);
  rclcpp::spin(std::make_shared<PingPong>());
  rclcpp::shutdown();
  return 0;
}
