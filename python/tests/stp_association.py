"""A second association: handshake, cookie and sealed packets in Python, written from the document alone.

Follows docs/stp-hosts.md, "The association".
Differs from crates/live: the ephemeral key is given, so that a test is the same each time; Noise comes from another library.
Leaves out the window against replays, new keys after 2^26 packets, refusing, and forgetting.
"""

import struct

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from noise.connection import Keypair, NoiseConnection

HELLO, ANSWER, COOKIE, REFUSED, SEALED = range(1, 6)
SHARED, PAIR = 1, 2
AES, CHACHA = 1, 2


def public(private):
    """The public key of an X25519 key."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


class Association:
    """Seals and opens packets; `hello` as initiator, `handle_hello` as responder."""

    def __init__(self, index, *, shared=None, private=None, public=None, ephemeral, cipher=AES, wanted=b""):
        self.index, self.cipher, self.pattern = index, cipher, SHARED if shared else PAIR
        self.shared, self.private, self.public = shared, private, public
        self.peer, self.cookie, self.wanted = None, b"", wanted
        self.ephemeral, self.sent = ephemeral, 0

    def _noise(self, initiator, head):
        name = "NNpsk0" if self.pattern == SHARED else "IK"
        noise = NoiseConnection.from_name(f"Noise_{name}_25519_ChaChaPoly_BLAKE2s".encode())
        if self.pattern == SHARED:
            noise.set_psks(psk=self.shared)
        else:
            noise.set_keypair_from_private_bytes(Keypair.STATIC, self.private)
            if initiator:
                noise.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, self.public)
        noise.set_keypair_from_private_bytes(Keypair.EPHEMERAL, self.ephemeral)
        (noise.set_as_initiator if initiator else noise.set_as_responder)()
        noise.set_prologue(b"skyhop stp association" + head)
        noise.start_handshake()
        return noise

    @property
    def _head(self):
        return bytes([1, self.pattern, self.cipher]) + self.index

    def hello(self):
        """As initiator: HELLO, which is constant except for the cookie."""
        first = bytes(self._noise(True, self._head).write_message())
        return bytes([HELLO]) + self._head + bytes([len(self.cookie)]) + self.cookie + first

    def handle_answer(self, datagram):
        """As initiator: accepts ANSWER and COOKIE. Begins anew with each, since an invalid one spoils the state of Noise."""
        noise = self._noise(True, self._head)
        first = bytes(noise.write_message())
        if datagram[1:4] != self.index:
            return
        if datagram[0] == COOKIE and datagram[4:12] == first[:8]:
            self.cookie = datagram[12:28]
        elif datagram[0] == ANSWER:
            self._open(noise, bytes(noise.read_message(datagram[4:])))

    def handle_hello(self, datagram):
        """As responder: the ANSWER, or a COOKIE if one is required and missing."""
        head, size = datagram[1:7], datagram[7]
        cookie, first = datagram[8 : 8 + size], datagram[8 + size :]
        if self.wanted and cookie != self.wanted:
            return bytes([COOKIE]) + head[3:] + first[:8] + self.wanted
        self.cipher = head[2]
        noise = self._noise(False, head)
        noise.read_message(first)
        answer = bytes([ANSWER]) + head[3:] + bytes(noise.write_message(self.index))
        self._open(noise, head[3:])
        return answer

    def _open(self, noise, peer):
        self.peer = peer
        states = noise.noise_protocol.cipher_state_encrypt, noise.noise_protocol.cipher_state_decrypt
        self.outgoing, self.incoming = (self._keys(state.k) for state in states)

    def _keys(self, secret):
        size = 16 if self.cipher == AES else 32
        key, vector = (HKDFExpand(SHA256(), n, label).derive(secret) for n, label in ((size, b"skyhop stp key"), (12, b"skyhop stp iv")))
        return (AESGCM if self.cipher == AES else ChaCha20Poly1305)(key), int.from_bytes(vector, "big")

    def seal(self, packet):
        aead, vector = self.outgoing
        head = bytes([SEALED]) + self.peer + struct.pack(">Q", self.sent)
        nonce, self.sent = (vector ^ self.sent).to_bytes(12, "big"), self.sent + 1
        return head + aead.encrypt(nonce, packet, head)

    def open(self, datagram):
        """The decrypted STP packet; raises cryptography's InvalidTag."""
        aead, vector = self.incoming
        nonce = (vector ^ int.from_bytes(datagram[4:12], "big")).to_bytes(12, "big")
        return aead.decrypt(nonce, datagram[12:], datagram[:12])
