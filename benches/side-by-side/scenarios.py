"""What is compared: nine scenarios, each a port of nginx and a way to use it."""

from dataclasses import dataclass

CONNECTIONS = 100


@dataclass(frozen=True)
class Scenario:
    key: str
    title: str
    port: str
    tls: str | None = "1.3"
    path: str = "/"
    close: bool = False
    resumes: bool = False
    http2: bool = False
    mutual: bool = False
    handshake_only: bool = False
    # The same server, but for P-256 as a group of key exchange.
    p256_port: str | None = None

    @property
    def opens(self):
        """Whether every operation opens a connection."""
        return self.close or self.handshake_only


ALL = [
    Scenario("S1", "new connection, full handshake TLS 1.2 RSA-2048, 1 request", "tls12", tls="1.2", close=True),
    Scenario("S2", "new connection, full handshake TLS 1.3 P-256, 1 request", "tls13", close=True, p256_port="tls13_p256"),
    Scenario("S3a", "resumed by ticket TLS 1.2, 1 request", "tls12_ticket", tls="1.2", close=True, resumes=True),
    Scenario("S3b", "resumed by ticket TLS 1.3, 1 request", "tls13_ticket", close=True, resumes=True, p256_port="tls13_ticket_p256"),
    Scenario("S3c", "resumed by session id TLS 1.2, 1 request", "tls12_id", tls="1.2", close=True, resumes=True),
    Scenario("S4", "mutual TLS 1.3, P-256 client key, 1 request", "mutual", close=True, mutual=True),
    Scenario("S5", "HTTPS keep-alive, 356 bytes", "tls13"),
    Scenario("S6", "HTTPS keep-alive, 1.9 MB", "tls13", path="/big"),
    Scenario("S7", "HTTP/2, 356 bytes", "http2", http2=True),
    Scenario("S8", "HTTP keep-alive, 356 bytes", "plain", tls=None),
    Scenario("S9a", "handshake only TLS 1.2 RSA-2048", "tls12", tls="1.2", handshake_only=True),
    Scenario("S9b", "handshake only TLS 1.3 P-256", "tls13", handshake_only=True, p256_port="tls13_p256"),
    Scenario("S9c", "handshake only TLS 1.2, resumed by ticket", "tls12_ticket", tls="1.2", handshake_only=True, resumes=True),
]


def chosen(words):
    """The scenarios that a word such as S1,S5 or all names."""
    if words == "all":
        return ALL
    by_key = {scenario.key.lower(): scenario for scenario in ALL}
    unknown = [word for word in words.split(",") if word.lower() not in by_key]
    if unknown:
        raise SystemExit(f"side-by-side: no scenario {', '.join(unknown)}; there are all, {', '.join(s.key for s in ALL)}")
    return [by_key[word.lower()] for word in words.split(",")]
