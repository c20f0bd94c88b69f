"""nginx as the server that every tool meets: its certificates, configuration, counters and log. One process on one CPU."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from urllib.request import urlopen

PORTS = "status plain tls12 tls12_ticket tls12_id tls13 tls13_ticket tls13_p256 tls13_ticket_p256 mutual http2".split()
BODY = "x" * 356
BIG_BYTES = 1_900_000


class Nginx:
    """A running nginx; leaving the context ends it."""

    def __init__(self, folder, cpu):
        self.folder, self.cpu = Path(folder), cpu
        self.ports = dict(zip(PORTS, free_ports(len(PORTS))))
        self.looks = 0

    def __enter__(self):
        certificates(self.folder)
        (self.folder / "html").mkdir()
        (self.folder / "html/big").write_bytes(os.urandom(BIG_BYTES))
        (self.folder / "nginx.conf").write_text(self.configuration())
        command = [program(), "-p", str(self.folder), "-c", "nginx.conf", "-e", "error.log"]
        pin = lambda: os.sched_setaffinity(0, {self.cpu})
        self.process = subprocess.Popen(command, preexec_fn=pin, start_new_session=True, stdin=subprocess.DEVNULL)
        for _ in range(100):
            if self.process.poll() is not None:
                raise SystemExit("side-by-side: nginx does not start:\n" + self.errors())
            try:
                self.counters()
                return self
            except OSError:
                time.sleep(0.05)
        self.__exit__()
        raise SystemExit("side-by-side: nginx does not answer:\n" + self.errors())

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def errors(self):
        log = self.folder / "error.log"
        return log.read_text() if log.exists() else ""

    def counters(self):
        """Connections accepted and requests answered, without our own looks: each is one of both."""
        words = urlopen(f"http://127.0.0.1:{self.ports['status']}/", timeout=10).read().split()
        self.looks += 1
        return int(words[7]) - self.looks, int(words[9]) - self.looks

    def file(self, name):
        return str(self.folder / name)

    def empty_sample(self):
        (self.folder / "sample.log").write_text("")

    def sample(self):
        """Fields of one request in 50."""
        lines = (self.folder / "sample.log").read_text().splitlines()
        return [dict(field.split("=", 1) for field in line.split("|")) for line in lines]

    def configuration(self):
        key = lambda kind: f"ssl_certificate server-{kind}.pem; ssl_certificate_key server-{kind}.key;"
        rsa, ec = key("rsa"), key("ec")
        # The suites are pinned, else Go takes AES-128 and the others AES-256.
        tls12 = "ssl_protocols TLSv1.2; ssl_ciphers ECDHE-RSA-AES256-GCM-SHA384;"
        tls13 = "ssl_protocols TLSv1.3; ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384;"
        off = "ssl_session_cache off; ssl_session_tickets off;"
        tickets = "ssl_session_cache none; ssl_session_tickets on; ssl_session_timeout 1h;"
        by_id = "ssl_session_cache shared:sessions:10m; ssl_session_tickets off; ssl_session_timeout 1h;"
        p256 = "ssl_ecdh_curve X25519:prime256v1;"
        client = "ssl_client_certificate ca.pem; ssl_verify_client on;"
        servers = "\n".join([
            self.server("plain", "", ""),
            self.server("tls12", "ssl", rsa + tls12 + off),
            self.server("tls12_ticket", "ssl", rsa + tls12 + tickets),
            self.server("tls12_id", "ssl", rsa + tls12 + by_id),
            self.server("tls13", "ssl", ec + tls13 + off),
            self.server("tls13_ticket", "ssl", ec + tls13 + tickets),
            self.server("tls13_p256", "ssl", ec + tls13 + off + p256),
            self.server("tls13_ticket_p256", "ssl", ec + tls13 + tickets + p256),
            self.server("mutual", "ssl", ec + tls13 + off + client),
            self.server("http2", "ssl http2", ec + tls13 + off),
        ])
        temporary = " ".join(f"{name}_temp_path tmp-{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        fields = "status=$status|http=$server_protocol|tls=$ssl_protocol|reused=$ssl_session_reused|client=$ssl_client_verify"
        return f"""
daemon off; master_process off; pid nginx.pid; error_log error.log warn;
{"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 10000; multi_accept on; }}
http {{
  default_type text/plain; sendfile on; tcp_nopush on; server_tokens off; {temporary}
  keepalive_requests 1000000000; keepalive_timeout 600s; http2_max_concurrent_streams 128;
  ssl_ecdh_curve X25519; ssl_buffer_size 16k;
  split_clients "$connection.$connection_requests" $sampled {{ 2% 1; * 0; }}
  log_format sample '{fields}';
  access_log sample.log sample if=$sampled;
  server {{ listen 127.0.0.1:{self.ports["status"]}; access_log off; location / {{ stub_status; }} }}
{servers}
}}
"""

    def server(self, name, words, settings):
        locations = f'location / {{ return 200 "{BODY}"; }} location = /big {{ root html; }}'
        return f"  server {{ listen 127.0.0.1:{self.ports[name]} {words} backlog=4096; {settings} {locations} }}"


def program():
    found = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
    return found or exit("side-by-side: nginx is not installed (Debian: nginx)")


def free_ports(number):
    """Ports below those that the kernel gives to clients, which could take them between two runs."""
    ports = []
    for port in range(7000, 10000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                ports.append(port)
            except OSError:
                continue
        if len(ports) == number:
            return ports
    raise SystemExit("side-by-side: no free ports between 7000 and 10000")


def certificates(folder):
    """A CA, server certificates with an RSA and with a P-256 key, and a client's."""
    if not shutil.which("openssl"):
        raise SystemExit("side-by-side: openssl is not installed")
    run = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
    ec = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    run("req", "-x509", "-new", "-nodes", "-newkey", *ec, "-days", "30", "-subj", "/CN=side-by-side", "-keyout", "ca.key", "-out", "ca.pem")
    (folder / "server.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    (folder / "client.ext").write_text("extendedKeyUsage=clientAuth\n")
    for name, key, extensions in [("server-rsa", ["rsa:2048"], "server"), ("server-ec", ec, "server"), ("client", ec, "client")]:
        run("req", "-new", "-nodes", "-newkey", *key, "-subj", "/CN=localhost", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        run("x509", "-req", "-days", "30", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-extfile", f"{extensions}.ext", "-out", f"{name}.pem")
    (folder / "client-both.pem").write_text((folder / "client.pem").read_text() + (folder / "client.key").read_text())
