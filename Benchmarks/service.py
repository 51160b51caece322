"""A Secret Service on a bus of its own."""
import os
import shutil
import subprocess
import time


def is_there():
    return all(shutil.which(name) for name in ("dbus-daemon", "dbus-send", "gnome-keyring-daemon"))


class Service:
    """Runs until the end of `with`; its items are in a folder of the benchmark."""

    def __init__(self, folder):
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.items = 0  # That the benchmark has stored.

    def __enter__(self):
        bus = ["dbus-daemon", "--session", "--nofork", "--print-address"]
        self.bus = subprocess.Popen(bus, stdout=subprocess.PIPE, text=True)
        self.environment = {
            "DBUS_SESSION_BUS_ADDRESS": self.bus.stdout.readline().strip(),
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home),
        }
        every = {**os.environ, **self.environment}
        self.daemon = subprocess.Popen(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=every,
        )
        self.daemon.stdin.write(b"bench")
        self.daemon.stdin.close()
        # Before it has its name, a request would begin another one, beside this.
        owner = [
            "dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/",
            "org.freedesktop.DBus.GetNameOwner", "string:org.freedesktop.secrets",
        ]
        while subprocess.run(owner, env=every, capture_output=True).returncode != 0:
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        for process in (self.daemon, self.bus):
            process.terminate()
            process.wait()
