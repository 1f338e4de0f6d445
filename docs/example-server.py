#!/usr/bin/env python3
"""A server that passes the first ten cases of bcdissect conform, and nothing more.

usage: python3 example-server.py PORT

docs/first-cases.md builds it in three steps.
"""
import socket
import struct
import sys

# Step 1: queries of server browsers, in plain text.
KEYS = {
    "basic": {"gamename": "bcommander", "gamever": "60", "location": "1"},
    "info": {
        "hostname": "My server",
        "missionscript": "Multiplayer.Episode.Mission1.Mission1",
        "mapname": "DM",
        "numplayers": "0",
        "maxplayers": "8",
        "gamemode": "openplaying",
    },
    "rules": {"timelimit": "-1", "fraglimit": "-1", "system": "Multi1", "password": "0"},
    "players": {"player_0": "Dedicated Server"},
}
KEYS["status"] = KEYS["basic"] | KEYS["info"] | KEYS["rules"] | KEYS["players"]
queries = 0


def reply(query):
    """Answers all queries of a datagram, such as \\basic\\\\rules\\, in one text."""
    global queries
    queries += 1
    words, pairs = query.split("\\")[1:], {}
    for i, word in enumerate(words):
        if word == "echo":
            pairs["echo"] = words[i + 1]
        elif word == "secure":
            pairs["validate"] = "hMwdTNWS"  # the answer to LRPOPQ, which all masters ask
        else:
            pairs |= KEYS.get(word, {})
    if "numplayers" in pairs:
        pairs["numplayers"] = str(len(clients))
    text = "".join(f"\\{k}\\{v}" for k, v in pairs.items())
    return f"{text}\\final\\\\queryid\\{queries}.1"


# Step 2: the cipher. Both directions need the same state, and the plain bytes change it.
def cipher(datagram, decipher):
    key, carry, sum_, out = bytearray(b"AlbyRules!"), 0, 0, bytearray(datagram[:1])
    for byte in datagram[1:]:
        mix = last = 0
        for i in range(5):
            word = (key[2 * i] << 8 | key[2 * i + 1]) ^ last
            product = word * 0x015A & 0xFFFF
            sum_ = carry + (sum_ + i) * 0x4E35 + product & 0xFFFF
            carry = product
            last = word * 0x4E35 + 1 & 0xFFFF
            mix ^= last ^ sum_
        out.append(byte ^ (mix ^ mix >> 8) & 0xFF)
        plain = out[-1] if decipher else byte
        key = bytearray(k ^ plain for k in key)
    return bytes(out)


# Step 3: connect, accept and acknowledge.
RELIABLE = 0x8000
ACK, CONNECT, NAME = 0x01, 0x03, 0x00
clients = {}  # by address: id, random number, next sequence number


class Client:
    def __init__(self, nonce):
        used = {c.id for c in clients.values()}
        self.id = next(i for i in range(2, 127) if i not in used and i != 92)
        self.nonce, self.next = nonce, 0

    def control(self, kind, body):
        """Makes a reliable message of the types below 32, with the next number."""
        message = struct.pack("<BHH", kind, RELIABLE | 0x4000 | 5 + len(body), self.next)
        self.next += 1
        return message + body


def messages(datagram):
    """Yields type, sequence number (None if unreliable) and body of each message."""
    at = 2
    for _ in range(datagram[1]):
        kind = datagram[at]
        if kind == ACK:  # without a header: number, flags, and perhaps the index of a fragment
            at += 5 if datagram[at + 3] & 1 else 4
            continue
        if kind == 0x02:  # keepalive
            at += 1
            continue
        (header,) = struct.unpack_from("<H", datagram, at + 1)
        size, begin = header & 0x1FFF, at + (5 if header & RELIABLE else 3)
        yield kind, struct.unpack_from("<H", datagram, at + 3)[0] if header & RELIABLE else None, datagram[begin : at + size]
        at += size


def handle(address, datagram):
    """Returns the messages that answer a datagram."""
    out = []
    for kind, number, body in messages(datagram):
        if number is not None:  # flag 2: the types below 32 count apart
            out.append(struct.pack("<BHB", ACK, number, 2 if kind < 0x32 else 0))
        client = clients.get(address)
        if kind == CONNECT:
            nonce = body[4:]
            if client is None or client.nonce != nonce:
                client = clients[address] = Client(nonce)
                out.append(client.control(CONNECT, bytes([client.id])))
            else:  # the same connect once more: the same accept
                out.append(struct.pack("<BHHB", CONNECT, RELIABLE | 0x4000 | 6, 0, client.id))
        elif kind == NAME and client:
            out.append(client.control(NAME, body))
        elif kind == 0x05:  # disconnect
            clients.pop(address, None)
    return out


def main():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", int(sys.argv[1])))
    while True:
        data, address = s.recvfrom(2048)
        try:
            if data.startswith(b"\\"):
                s.sendto(reply(data.decode("latin-1")).encode("latin-1"), address)
                continue
            out = handle(address, cipher(data, decipher=True))
        except (IndexError, struct.error):
            continue  # not a datagram of the game
        if out:
            s.sendto(cipher(bytes([1, len(out)]) + b"".join(out), decipher=False), address)


main()
