#!/bin/bash
# bench/shaped_link.sh -- two hosts on this machine, joined by a link of a given rate.
#
#   shaped_link.sh up [RATE [BURST [QUEUE]]]  as tc(8) writes them; 2gbit 512kb 20ms
#   shaped_link.sh rate RATE [BURST [QUEUE]]  another rate for the link that is up
#   shaped_link.sh mpirun ARGS...             mpirun over both, $PENSTOCK_SLOTS ranks on each, or one, by $PENSTOCK_BTL
#   shaped_link.sh down
#
# A burst passes at full speed: no less than the 64 KiB that leave at once. What is longer than the queue is lost, and sent
# again by TCP. A host is a network namespace with a name of its own; no ssh. Needs root and iproute2; `up` says so and
# returns 77 where it cannot be done.
set -eu
namespace=penstock-host
address=10.78.0

# Ranks of two hosts with one name would share their segments of shared memory.
on_host() {
  local host=$1
  shift
  # shellcheck disable=SC2016  # expanded by that sh
  exec ip netns exec "$namespace$host" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$namespace$host" "$@"
}

up() {
  if [ "$(id -u)" != 0 ] || ! command -v ip >/dev/null || ! command -v tc >/dev/null; then
    echo "network namespaces need root, ip and tc" >&2
    return 77
  fi
  down
  ip netns add ${namespace}0 && ip netns add ${namespace}1 || return 77
  ip -n ${namespace}0 link add eth0 type veth peer name eth0 netns ${namespace}1 || return 77
  for host in 0 1; do
    ip -n $namespace$host addr add $address.$((host + 1))/24 dev eth0
    ip -n $namespace$host link set lo up
    ip -n $namespace$host link set eth0 up
  done
  shape "$@"
}

shape() {
  for host in 0 1; do
    tc -n $namespace$host qdisc replace dev eth0 root tbf rate "$1" burst "$2" latency "$3" || return 77
  done
}

down() {
  for host in 0 1; do
    [ ! -e /run/netns/$namespace$host ] || ip netns del $namespace$host
  done
}

case "${1:-}" in
  up) up "${2:-2gbit}" "${3:-512kb}" "${4:-20ms}" ;;
  rate) shape "${2:?a rate}" "${3:-512kb}" "${4:-20ms}" ;;
  down) down ;;
  agent)  # Open MPI's: [options] address command
    shift
    while [[ "$1" == -* ]]; do shift; done
    host=$((${1##*.} - 1))
    shift
    on_host $host /bin/sh -c "$*"
    ;;
  mpirun)
    shift
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    on_host 0 mpirun --host "$address.1:${PENSTOCK_SLOTS:-1},$address.2:${PENSTOCK_SLOTS:-1}" --bind-to none \
      --mca plm rsh --mca plm_rsh_agent "$(realpath "$0") agent" \
      --mca btl "${PENSTOCK_BTL:-self,tcp}" --mca btl_tcp_if_include $address.0/24 --mca oob_tcp_if_include $address.0/24 "$@"
    ;;
  *)
    sed -n '3,10s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
