"""Several hosts on one machine, as namespaces: for tests, and for trying things by hand.

A script calls enclose() first, which starts it again as the first process of namespaces of its own
(network, mounts, processes, host name). Everything that a Lab then makes is inside of them: no name
or address can clash with the machine's or with another lab's, and nothing is left when the script
ends, however it ends, because the kernel ends what lives in its namespaces with it.

Each host is a further set of namespaces, on one bridge: own address, name, processes, /dev/shm, and
where the kernel has namespaces of time a monotonic clock of its own, hours apart from the others'. The
script itself runs on `head`, where no ranks are. All hosts share the file system, as a cluster's do.
"""

import atexit
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

INSIDE = "PENSTOCK_LAB_INSIDE"
SKIPPED = 77
HERE = pathlib.Path(__file__).resolve().parent
NAMESPACES = ["--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def enclose(root_needed=False):
    """Returns inside the namespaces; skips the test where they are not to be had."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if os.environ.get(INSIDE):
        return
    for tool in ("unshare", "nsenter", "ip"):
        if shutil.which(tool) is None:
            skip(f"needs {tool}: install the packages util-linux and iproute2")
    words = ["unshare", *NAMESPACES]
    if os.geteuid() != 0:
        if root_needed:
            skip("needs root: run it with sudo")
        words.insert(1, "--map-root-user")
    # What containers forbid in one way or another: namespaces, mounts, devices.
    tried = subprocess.run([*words, "sh", "-c", "mount -t tmpfs tmpfs /dev/shm && ip link add br0 type bridge"],
                           capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        skip("needs namespaces of network, mounts and processes, which a container must be allowed (docker run --privileged): "
                 f"{tried.stderr.strip()}")
    os.environ[INSIDE] = "yes"
    # In this process's place, so that who kills this kills everything.
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


def run(*words, **options):
    """A command that must succeed; what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def wait_for(what, condition, seconds=60, pause=0.02):
    """What the condition gives, once it is true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(pause)
    return found


def is_gone(process):
    """Also where nobody has asked for its exit code yet."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


class Lab:
    """`count` hosts n0, n1, ...; the files of the test go to `folder`, which is in memory."""

    def __init__(self, count, slots=2, subnet="10.77.0"):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="penstock-lab-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        run("mount", "-t", "tmpfs", "tmpfs", self.folder)
        atexit.register(run, "umount", "--lazy", self.folder)
        self.names = [f"n{k}" for k in range(count)]
        self.addresses = {name: f"{subnet}.{k + 1}" for k, name in enumerate(self.names)}
        self.hostfile = self.folder / "hostfile"
        self.hostfile.write_text("".join(f"{name} slots={slots}\n" for name in self.names))
        table = self.folder / "hosts"
        table.write_text("127.0.0.1 localhost\n" + f"{subnet}.254 head\n" +
                         "".join(f"{address} {name}\n" for name, address in self.addresses.items()))
        run("mount", "--bind", table, "/etc/hosts")
        # Own names matter: ranks of hosts with one name would share files in memory.
        run("hostname", "head")
        run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
        for words in ("link set lo up", "link add br0 type bridge", f"addr add {subnet}.254/24 dev br0",
                      "link set br0 up"):
            run("ip", *words.split())
        self.first = {}  # process of each host, as head sees it
        self.own_clocks = subprocess.run(["unshare", "--time", "--monotonic", "1", "true"],
                                         capture_output=True, check=False).returncode == 0
        for k, name in enumerate(self.names):
            self._start(name, clock_ahead=5_000 * (k + 1))
        self.agent = HERE / "agent.sh"
        self.environment = dict(os.environ, PENSTOCK_LAB=str(self.folder), TMPDIR="/dev/shm", OMP_NUM_THREADS="1",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                OMPI_MCA_btl="self,vader,tcp", OMPI_MCA_plm="rsh",
                                OMPI_MCA_plm_rsh_agent=str(self.agent), OMPI_MCA_plm_rsh_no_tree_spawn="1")

    def _start(self, name, clock_ahead):
        # In the mounts of head, but for what a host has for itself.
        log = self.folder / f"{name}.log"
        time_words = ["--time", "--monotonic", str(clock_ahead)] if self.own_clocks else []
        with log.open("w") as errors:
            process = subprocess.Popen(
                ["unshare", *NAMESPACES, *time_words, "sh", "-c", 'hostname "$0" && mount -t tmpfs tmpfs /dev/shm && '
                 "ip link set lo up && echo up && exec sleep infinity", name],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)
        assert process.stdout.readline() == b"up\n", f"{name} does not come up: {log.read_text()}"
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        first = self.first[name] = children.read_text().split()[0]
        (self.folder / f"{name}.process").write_text(first)
        run("ip", "link", "add", "eth0", "netns", first, "type", "veth", "peer", "name", f"to-{name}")
        run("ip", "link", "set", f"to-{name}", "master", "br0", "up")
        inside = ("nsenter", "--target", first, "--net", "ip")
        run(*inside, "addr", "add", f"{self.addresses[name]}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")

    def start(self, *words, **options):
        """A process on head."""
        return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, env=self.environment, **options)

    def run(self, *words):
        """A command on head that must succeed; what it printed."""
        return run(*words, env=self.environment, stdin=subprocess.DEVNULL)

    def cut(self, name):
        """The host's cable: nobody is told anything."""
        run("ip", "link", "set", f"to-{name}", "down")

    def kill(self, name):
        """All processes of the host; its address is gone as well. Returns when they are: on busy cores they went on for some
        milliseconds after the signal, a checkpoint or three."""
        first = int(self.first[name])
        os.kill(first, signal.SIGKILL)
        wait_for(f"the end of {name}", lambda: is_gone(first))

    def received(self, name):
        """Bytes that came from that host over its cable."""
        for line in pathlib.Path("/proc/net/dev").read_text().splitlines():
            device, _, numbers = line.partition(":")
            if device.strip() == f"to-{name}":
                return int(numbers.split()[0])
        raise AssertionError(f"{name} has no cable")


def main():
    """usage: lab.py HOSTS [COMMAND...] -- the command (a shell) on head; agent.sh beside this file reaches the hosts."""
    enclose()
    hosts = Lab(int(sys.argv[1]))
    print(f"hosts {' '.join(hosts.names)}; mpirun's hostfile: {hosts.hostfile}")
    sys.exit(subprocess.run(sys.argv[2:] or ["bash"], env=hosts.environment, check=False).returncode)


if __name__ == "__main__":
    main()
