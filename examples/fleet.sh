#!/bin/sh
# Runs a plan with an agent on each machine that ssh reaches; nothing has to be installed there:
#
#     examples/fleet.sh 192.0.2.1 plan.toml load1 load2 load3 load4
#
# 192.0.2.1 is this machine, as the others reach it: agents dial its port 7711. `agent` and
# `coordinator` must be on the PATH, and the machines be of this one's kind, with its C library.
# SET is for the plan's variables, such as --set rate=100/s. OPTIONS are for `coordinator start`,
# AGENT_OPTIONS for `agent join`, such as --allow 203.0.113.0/24.
# Exits as `coordinator start` does.
set -eu
if [ $# -lt 3 ]; then
  echo "usage: $0 THIS_MACHINE PLAN.toml MACHINE..." >&2
  exit 2
fi
address=$1:${PORT:-7711} plan=$2
shift 2

# What is wrong with the plan is told before anything is copied.
# shellcheck disable=SC2086
coordinator check ${SET:-} "$plan" >/dev/null
token=$(coordinator token)
agent=$(command -v agent)
for machine; do
  ssh "$machine" 'cat >agent.new && chmod 700 agent.new && mv agent.new cannonade-agent' <"$agent"
done
for machine; do
  # By the input, since `ps` shows command lines; all else is of this side.
  # shellcheck disable=SC2029
  echo "$token" | ssh "$machine" "CANNONADE_TOKEN=\$(cat) exec ./cannonade-agent join \
    --once --wait 1m --name '$machine' ${AGENT_OPTIONS:-} '$address'" &
done
code=0
# Options are words.
# shellcheck disable=SC2086
coordinator start --listen "0.0.0.0:${PORT:-7711}" --agents $# ${OPTIONS:-} ${SET:-} "$plan" ||
  code=$?
# Agents give up by themselves where the command line was wrong.
[ "$code" -eq 2 ] || wait
exit "$code"
