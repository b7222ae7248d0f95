# How many programs that compute may well run at once. Sourced by launch/setup.sh and launch/tidy.sh.
# shellcheck shell=bash

# usable_cores: those that this shell may run on, but no more than its control groups leave time for (a container's --cpus, a
# service's CPUQuota), and at least one. More compilers than that take turns, and each other's caches. Of both versions of control
# groups, as launch/program/start/processor_time.h.
usable_cores() {
  local cores controllers group tree quota period
  cores=$(nproc)
  while IFS=: read -r _ controllers group; do
    case ,$controllers, in
      ,,) tree=/sys/fs/cgroup ;;
      *,cpu,*) tree=/sys/fs/cgroup/cpu ;;
      *) continue ;;
    esac
    group=${group%/}
    while :; do
      quota=max period=
      if [ -r "$tree$group/cpu.max" ]; then
        read -r quota period <"$tree$group/cpu.max"
      elif [ -r "$tree$group/cpu.cfs_quota_us" ]; then
        quota=$(<"$tree$group/cpu.cfs_quota_us") period=$(<"$tree$group/cpu.cfs_period_us")
      fi
      if [[ $quota =~ ^[0-9]+$ ]] && [ "$((quota / period))" -lt "$cores" ]; then cores=$((quota / period)); fi
      [ -n "$group" ] || break
      group=${group%/*}
    done
  done < <(cat /proc/self/cgroup 2>/dev/null)
  echo $((cores > 1 ? cores : 1))
}
