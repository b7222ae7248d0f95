"""A Slurm of the test's own, with its daemons on the hosts of a lab: nothing of it touches the machine's own Slurm."""

import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hosts"))
import lab  # noqa: E402  (found by the line above)

CONFIGURATION = """ClusterName=lab
SlurmctldHost=head(10.77.0.254)
SlurmUser=root
AuthType=auth/munge
# A job that is queued again must outlive its old credentials: two minutes, by default.
AuthInfo=socket={folder}/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=1
MpiDefault=pmix
TmpFS=/dev/shm
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
KillWait=5
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# Else slurmd looks for what is not mounted here.
CGROUPS = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def enclose():
    """As lab.enclose(), where Slurm is installed."""
    for tool in ("slurmctld", "slurmd", "munged", "srun"):
        if shutil.which(tool, path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
            lab.skip(f"needs {tool}: launch/setup.sh --slurm installs it (packages slurmctld, slurmd, slurm-client, munge)")
    lab.enclose(root_needed=True)


class Cluster:
    """All hosts of the lab as nodes of this many processors."""

    def __init__(self, hosts, processors=4):
        self.hosts = hosts
        folder = self.folder = hosts.folder / "slurm"
        for part in (folder, folder / "state"):
            part.mkdir(mode=0o755)
        nodes = "\n".join(f"NodeName={name} NodeAddr={hosts.addresses[name]} CPUs={processors} RealMemory=1000"
                          for name in hosts.names)
        (folder / "slurm.conf").write_text(CONFIGURATION.format(folder=folder, nodes=nodes))
        (folder / "cgroup.conf").write_text(CGROUPS)
        key = folder / "munge.key"
        key.write_bytes(bytes(range(128)))
        key.chmod(0o400)
        hosts.environment["SLURM_CONF"] = str(folder / "slurm.conf")
        # A job's mpirun finds its hosts, and starts on them, by Slurm.
        for variable in [name for name in hosts.environment if name.startswith("OMPI_MCA_plm")]:
            del hosts.environment[variable]
        self._daemon("munged", "--foreground", "--force", "--socket", folder / "munge.socket", "--key-file", key,
                     "--pid-file", folder / "munge.pid", "--seed-file", folder / "munge.seed",
                     "--log-file", folder / "munged.log")
        lab.wait_for("munged", (folder / "munge.socket").exists)
        self._daemon("slurmctld", "-D", "-c")
        for name in hosts.names:
            self._daemon(hosts.agent, name, "slurmd", "-D")
        try:
            lab.wait_for("all nodes", lambda: self.run("sinfo", "-h", "-N", "-o", "%T").split() == ["idle"] * len(hosts.names),
                         pause=0.2)
        except AssertionError:
            print(self.logs())
            raise

    def _daemon(self, *words):
        with (self.folder / "daemons.log").open("a") as log:
            self.hosts.start(*words, stdout=log, stderr=log)

    def run(self, *words):
        """One of Slurm's commands, on head; what it printed."""
        return self.hosts.run(*words)

    def logs(self):
        return "".join(f"== {path.name}\n{path.read_text()[-2000:]}" for path in sorted(self.folder.glob("*.log")))

    def job(self, number):
        """What is known of a job, by Slurm's names."""
        words = self.run("scontrol", "--oneliner", "show", "job", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)
