#!/usr/bin/env bash
set -eo pipefail
source /opt/franka/install/setup.bash
source /opt/impact/install/setup.bash
exec "$@"
