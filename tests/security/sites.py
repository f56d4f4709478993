"""Attacks on the sites' door of a running broker: peers without a key that flood, stop half-way through the handshake, announce frames
without an end or send what is no protocol; and peers with a key that send spoiled messages, or say another site's name. The site that is there keeps its
session, and a site that comes meanwhile gets one."""
import glob, os, random, re, socket, struct, subprocess, time

from door import check
from federation import TOP, run

GREETING = bytes([0xff]) + bytes(8) + bytes([0x7f])
ROUND_S = 4       # of each attack
# Within this time a site that starts beside an attack has its session. Of 25 restarts beside some 1,900 key exchanges a second, on two
# cores with a load of 18, half had it within 2.3 s and the last after 14 s. An attempt may take 10 s, and the pauses after it are 1, 2,
# 4 s and so on: this is time for four attempts even if each of them takes as long as it may.
SESSION_S = 60
STRANGERS = "127.0.0.9"  # where attackers come from; the places of the port are shared out by address


def greeting(mechanism=b"CURVE", major=3, as_server=0):
    return GREETING + bytes([major, 1]) + mechanism.ljust(20, b"\0") + bytes([as_server]) + bytes(31)


def command(name, body):
    text = bytes([len(name)]) + name + body
    return bytes([0x04, len(text)]) + text if len(text) < 256 else bytes([0x06]) + struct.pack(">Q", len(text)) + text


def openings(rng):
    """[(what it is, bytes)]: what a connection begins with."""
    noise = lambda size: rng.randbytes(size)
    hello = command(b"HELLO", bytes([1, 0]) + bytes(72) + noise(32) + noise(8) + noise(80))
    return [
        ("nothing", b""), ("one byte", b"\xff"), ("half a greeting", greeting()[:30]), ("a greeting", greeting()),
        ("no encryption", greeting(b"NULL") + command(b"READY", b"")), ("a password", greeting(b"PLAIN") + command(b"HELLO", b"\1a\1b")),
        ("another version", greeting(major=2)), ("a greeting as a server", greeting(as_server=1)),
        ("a broken key exchange", greeting() + hello), ("half a key exchange", greeting() + hello[:100]),
        ("the second step first", greeting() + command(b"INITIATE", noise(257))), ("a message first", greeting() + b"\0\5hello"),
        ("a frame without an end", greeting() + bytes([0x02]) + struct.pack(">Q", 1 << 62)),
        ("a command without an end", greeting() + bytes([0x06]) + struct.pack(">Q", (1 << 63) - 1) + noise(60000)),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + noise(500)),
        ("noise", noise(4000)), ("much noise", greeting() + noise(300000))]


class SitesDoor:
    def __init__(self, federation):
        self.federation = federation
        with open(federation.path("broker.yaml")) as file:
            self.host, port = re.search(r"listen_sites: tcp://(\S+):(\d+)", file.read()).groups()
        self.port = int(port)

    def connect(self, opening):
        connection = socket.socket()
        connection.settimeout(2)
        try:
            connection.setsockopt(socket.IPPROTO_IP, 24, 1)  # IP_BIND_ADDRESS_NO_PORT: ports last longer if connect chooses them
            connection.bind((STRANGERS, 0))
            connection.connect((self.host, self.port))
            connection.sendall(opening)
        except OSError:
            pass  # it hung up: as good
        return connection

    def sessions(self, name):
        return self.federation.log(name).count("session_open")


def second_site(federation):
    """A site that starts while others attack."""
    text = open(federation.path("north", "site.yaml")).read().replace("name: north", "name: south")
    text = text.replace(federation.path("north", ""), federation.path("south", ""))
    os.mkdir(federation.path("south"))
    pub = run(federation.tool("helio-agent"), "keygen", federation.path("south", "agent.key")).split()[-1]
    federation.helio("keys", "add", "south", pub)
    federation.commands["south"] = [federation.tool("helio-agent"), "--config", federation.write("south/site.yaml", text)]


def strangers(federation, door, sites, seed):
    rng, count = random.Random(seed), 0
    before = sites.sessions("north")
    second_site(federation)
    federation.start("south")
    for what, opening in openings(rng):
        held = [sites.connect(opening) for _ in range(40)]
        door.others(f"beside strangers that send {what}")
        for connection in held[::2]:
            connection.close()  # some leave, some stay until the next attack
        count += len(held)
    federation.wait_for(lambda: sites.sessions("south") > 0, SESSION_S, "a site that starts beside attacks gets no session")
    check(sites.sessions("north") == before, "the site that was there lost its session")
    return count


def flood(federation, door, sites, seed):
    """Key exchanges by peers without an enrolled key, as fast as possible, while a site restarts."""
    rng, count, ends = random.Random(seed), 0, time.monotonic() + ROUND_S
    federation.kill("south")
    before = sites.sessions("south")
    federation.start("south")
    opening = dict(openings(rng))["a broken key exchange"]
    held = []
    while time.monotonic() < ends or sites.sessions("south") == before:
        check(time.monotonic() < ends + SESSION_S, "a site that restarts beside a flood gets no session")
        held += [sites.connect(opening) for _ in range(50)]
        count += 50
        door.others("beside a flood of key exchanges")
        for connection in held[:-200]:
            connection.close()
        held = held[-200:]
    for connection in held:
        connection.close()
    return count


def impostors(federation, door, sites):
    """An enrolled key gives no other name; and a key that is enrolled nowhere, or revoked, opens nothing."""
    north = sites.sessions("north")
    pub = run(federation.tool("helio-agent"), "keygen", federation.path("south", "other.key")).split()[-1]
    text = open(federation.path("south", "site.yaml")).read()
    cases = (("another site's name", text.replace("name: south", "name: north")),
             ("a key of nobody", text.replace("agent.key", "other.key")))
    for what, config in cases:
        config = config.replace(federation.path("south", "state"), federation.path("south", f"state-{len(what)}"))
        path = federation.write("south/impostor.yaml", config)
        os.chmod(federation.path("south", "other.key"), 0o600)
        with open(federation.path("impostor.log"), "wb") as log:
            agent = subprocess.Popen([federation.tool("helio-agent"), "--config", path], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        time.sleep(3)
        agent.kill()
        agent.wait()
        check("session_open" not in federation.log("impostor"), f"an agent with {what} gets a session: {federation.log('impostor')[-600:]}")
    check(sites.sessions("north") == north, "the site whose name was used lost its session")
    job = federation.submit_one(run="true", placement={"sites": ["north"]})
    federation.wait_for(lambda: federation.look_up(job) == "succeeded", 30, "the site whose name was used runs nothing")
    return len(cases)


def enrolled(federation, door, sites, seed):
    """Sites that are known (one by the name in the messages, one by another) send every message spoiled, as fast as possible."""
    north, frames = sites.sessions("north"), glob.glob(os.path.join(TOP, "tests/golden/wire/*.hex"))
    broker_key = re.search(r'broker_key: "(.*)"', open(federation.path("north", "site.yaml")).read()).group(1)
    peers = []
    for i, name in enumerate(("name", "stranger", "name")):
        key = federation.path(f"hostile-{i}.key")
        federation.helio("keys", "add", name, run(federation.tool("helio-agent"), "keygen", key).split()[-1])
        peers.append(subprocess.Popen([federation.tool("tests/peers/peer-hostile-site"), f"tcp://{sites.host}:{sites.port}", broker_key, key,
                                       str(2 * ROUND_S), str(seed + i), *frames], stdout=subprocess.PIPE, text=True))
    count, jobs = 0, []
    while any(peer.poll() is None for peer in peers):
        door.others("beside hostile sites")
        if len(jobs) < 5:
            jobs.append(federation.submit_one(run="true", placement={"sites": ["north"]}))
        time.sleep(0.2)
    for peer in peers:
        sent, connections = map(int, peer.stdout.read().split())
        check(peer.returncode == 0 and sent > 100 and connections > 0, f"a hostile site sent {sent} frames in {connections} connections")
        count += sent
    check(sites.sessions("north") == north, "the site that was there lost its session")
    for job in jobs:
        federation.wait_for(lambda: federation.look_up(job) == "succeeded", SESSION_S, "a job beside hostile sites does not run")
    check(federation.sql("select count(*) from helio.attempts where site in ('name', 'stranger') and completes") == [["0"]],
          "a hostile site completed a job that it never had")
    return count


def attack(federation, door, seed):
    sites = SitesDoor(federation)
    yield "strangers at the sites' door", lambda: strangers(federation, door, sites, seed)
    yield "a flood at the sites' door", lambda: flood(federation, door, sites, seed)
    yield "known sites that mean harm", lambda: enrolled(federation, door, sites, seed)
    yield "impostors at the sites' door", lambda: impostors(federation, door, sites)
