#!/usr/bin/env python3
"""keys.py --build TREE: keys of sites are revoked while the sites are connected. A site whose key is revoked is cut off within
5 s and stays out, its running job goes on, the other site notices nothing, and the audit says who did it. With a new key the
site is back, with its job. A token that `helio-broker token add` makes is valid at once, and can be revoked at once, whether
or not it was used before; who has it is told."""
import argparse, os, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
from federation import Federation, LocalSite, check, run

WITHIN_S = 5  # what docs/operations.md promises


def sessions(fed, name):
    return fed.log(name).count("session_open")


def mode(path):
    return os.stat(path).st_mode & 0o7777


def check_keygen(agent, folder):
    """The secret is the owner's alone; PATH.pub holds what `helio keys add` reads; neither is ever overwritten."""
    path = os.path.join(folder, "site.key")
    old = os.umask(0)
    try:
        printed = run(agent, "keygen", path)
    finally:
        os.umask(old)
    secret, public = open(path).read(), open(path + ".pub").read()
    check(public == printed and len(public) == 41, f"{path}.pub is not what keygen prints: {public!r}, {printed!r}")
    check(mode(path) == 0o600, f"the secret key has mode {mode(path):o}")
    check(len(secret) == 41 and secret.strip() not in printed and secret.strip() not in public, "the secret is shown")
    again = subprocess.run([agent, "keygen", path], capture_output=True, text=True)
    check(again.returncode == 1 and again.stdout == "" and "already exists" in again.stderr, f"a second keygen: {again}")
    check(open(path).read() == secret and open(path + ".pub").read() == public, "a second keygen changed the keys")
    for wrong in ([], [path, path], [os.path.join(folder, "none", "site.key")], [folder]):
        failed = subprocess.run([agent, "keygen", *wrong], capture_output=True, text=True)
        check(failed.returncode != 0 and failed.stdout == "" and failed.stderr, f"keygen {wrong}: {failed}")
    return public


def check_tokens(fed):
    """Tokens that are put into the database beside the leader."""
    def make():
        return run(fed.tool("helio-broker"), "token", "add", "--tenant", "demo", "--user", "eve", "--role", "user",
                   "--config", fed.path("broker.yaml")).split()[-1]

    def ls(token):
        return subprocess.run([fed.tool("helio"), "ls"], env=dict(fed.env, HELIO_TOKEN=token), capture_output=True, text=True)

    used, unused = make(), make()
    check(ls(used).returncode == 0, f"a new token is not valid at once: {ls(used).stderr}")
    for token in (used, unused):
        fed.helio("token", "revoke", token.split("_")[1])
        refused = ls(token)
        check(refused.returncode == 4 and "the token was revoked" in refused.stderr, f"a revoked token: {refused}")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--build", required=True)
    folder = tempfile.mkdtemp(prefix="helio-keys-")
    fed = Federation(args.parse_args().build, folder, [LocalSite("north", 1.0), LocalSite("south", 2.0)])
    try:
        check_keygen(fed.tool("helio-agent"), folder)
        fed.up()
        check_tokens(fed)
        job = fed.submit_one(name="long", gpu="H100:1", time="1h", run="exec sleep 3600")
        fed.wait_for(lambda: fed.look_up(job) == "running", 30, "the job does not run")
        keys = fed.helio("keys", "ls").stdout
        check("north" in keys and "south" in keys, f"keys ls: {keys}")
        south = sessions(fed, "south")
        fed.helio("keys", "revoke", "north")
        lost = time.monotonic()
        fed.wait_for(lambda: "broker_disconnected" in fed.log("north"), WITHIN_S, "the connection of a revoked key still stands")
        print(f"cut off after {time.monotonic() - lost:.1f} s")
        fed.wait_for(lambda: "does not know this key" in fed.log("north"), 30, "the agent does not say why")
        check(fed.helio("keys", "revoke", "north", check=False).returncode == 3, "a second time, there is a key to revoke")
        check(fed.sql("select count(*) from helio.audit where action = 'key-revoke' and object = 'north'") == [["1"]],
              "the audit does not have it once")
        check(sessions(fed, "south") == south, "the other site lost its session, too")
        check(fed.look_up(job) == "running", "the job did not go on")
        fed.kill("north")
        pub = run(fed.tool("helio-agent"), "keygen", fed.path("north", "new.key")).split()[-1]
        os.replace(fed.path("north", "new.key"), fed.path("north", "agent.key"))
        fed.helio("keys", "add", "north", pub)
        before = sessions(fed, "north")
        fed.start("north")
        fed.wait_for(lambda: sessions(fed, "north") > before, 30, "the site is not back with its new key")
        check(fed.look_up(job) == "running", "the job was not kept")
        fed.helio("cancel", job)
        fed.wait_for(lambda: fed.look_up(job) == "cancelled", 30, "the job does not end")
        print("keys are revoked on live connections, and replaced under running jobs")
    finally:
        fed.down()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
