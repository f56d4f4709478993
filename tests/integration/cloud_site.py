"""A site of instances that a provider's command creates and ends (tests/doubles/cloud.py), with the backend `exec`.
Importing this makes the modules of tests/faults importable."""
import os, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "faults"))
from federation import TOP, LocalSite  # noqa: E402

DOUBLE = TOP + "/tests/doubles/cloud.py"


class CloudSite(LocalSite):
    kind = "exec"
    scales = True  # its agent calls the provider; otherwise somebody else does
    scale = ""  # more settings of its pool `gpus` under agent.scale, a line each

    def up(self, federation):
        self.folder, self.state = federation.path(self.name, "folder"), federation.path(self.name, "cloud")
        for folder in (self.folder, self.state):
            os.mkdir(folder)
            os.chmod(folder, 0o755)
        self.attempts = os.path.join(self.folder, "attempts")

    def provider(self, *words):
        return subprocess.run([DOUBLE, self.state, *words], text=True, stdout=subprocess.PIPE, check=True).stdout

    def log(self):
        with open(self.state + "/log", encoding="utf-8") as file:
            return file.read()

    def agent_keys(self, federation):
        command = f"      command: [{DOUBLE}, {self.state}]\n      up_for: 1s\n      poll: 500ms\n" if self.scales else ""
        return (f"  shim: {federation.tool('helio-shim')}\n  exec:\n    command: [{DOUBLE}, {self.state}, adapter]\n"
                f"    folder: {self.folder}\n    poll: 500ms\n  scale:\n    - pool: gpus\n{command}"
                + "".join(f"      {line}\n" for line in self.scale.splitlines()))
