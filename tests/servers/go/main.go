// A net/http server over crypto/tls that counts what it sees: an implementation of TLS and HTTP that shares nothing
// with ours. Standard library only. It prints its two addresses, then serves until it is killed.
package main

import (
	"compress/gzip"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const bodyBytes, bigBytes = 356, 1_900_000

// Counts is what /counts shows.
type Counts struct {
	Connections, HandshakesFull, HandshakesResumed, HandshakesFailed, ClientCertificates, Requests, Events, Left uint64
}

var counts Counts

func main() {
	cert := flag.String("cert", "", "PEM of the certificate")
	key := flag.String("key", "", "PEM of its key")
	clientCA := flag.String("client-ca", "", "PEM of the CAs of client certificates, which are then required")
	version := flag.String("version", "1.3", "1.2 or 1.3")
	tickets := flag.Bool("tickets", false, "session tickets")
	http2 := flag.Bool("http2", false, "HTTP/2 where the client asks for it by ALPN")
	ip := flag.String("ip", "127.0.0.1", "where to serve")
	flag.Parse()

	listener := listen(*ip)
	fmt.Printf("built by %s\n", runtime.Version())
	fmt.Printf("serving %s\n", listener.Addr())
	counting := listen("127.0.0.1")
	fmt.Printf("counting %s\n", counting.Addr())
	go func() { log.Fatal(http.Serve(counting, http.HandlerFunc(showCounts))) }()

	config := tlsConfig(*cert, *key, *clientCA, *version, *tickets, *http2)
	server := &http.Server{Handler: routes(), ReadHeaderTimeout: 30 * time.Second}
	log.Fatal(server.Serve(newHandshaker(listener, config)))
}

func listen(ip string) net.Listener {
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	check(err)
	return listener
}

func tlsConfig(cert, key, clientCA, version string, tickets, http2 bool) *tls.Config {
	pair, err := tls.LoadX509KeyPair(cert, key)
	check(err)
	protocols := []string{"http/1.1"}
	if http2 {
		protocols = []string{"h2", "http/1.1"}
	}
	number := map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}[version]
	config := &tls.Config{
		Certificates: []tls.Certificate{pair}, MinVersion: number, MaxVersion: number,
		SessionTicketsDisabled: !tickets, NextProtos: protocols,
	}
	if clientCA != "" {
		pem, err := os.ReadFile(clientCA)
		check(err)
		config.ClientCAs = x509.NewCertPool()
		config.ClientCAs.AppendCertsFromPEM(pem)
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config
}

// A handshaker hands on connections whose handshake is done. net/http would do the handshake itself, and would not
// tell of those that fail or that carry no request.
type handshaker struct {
	net.Listener
	done chan net.Conn
}

func newHandshaker(listener net.Listener, config *tls.Config) net.Listener {
	h := &handshaker{listener, make(chan net.Conn, 1024)}
	go func() {
		for {
			conn, err := listener.Accept()
			check(err)
			atomic.AddUint64(&counts.Connections, 1)
			go h.handshake(tls.Server(conn, config))
		}
	}()
	return h
}

func (h *handshaker) handshake(conn *tls.Conn) {
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	if conn.Handshake() != nil {
		atomic.AddUint64(&counts.HandshakesFailed, 1)
		conn.Close()
		return
	}
	conn.SetDeadline(time.Time{})
	state := conn.ConnectionState()
	if state.DidResume {
		atomic.AddUint64(&counts.HandshakesResumed, 1)
	} else {
		atomic.AddUint64(&counts.HandshakesFull, 1)
		atomic.AddUint64(&counts.ClientCertificates, uint64(min1(len(state.PeerCertificates))))
	}
	h.done <- conn
}

func (h *handshaker) Accept() (net.Conn, error) { return <-h.done, nil }

func routes() http.Handler {
	body, big := []byte(strings.Repeat("x", bodyBytes)), []byte(strings.Repeat("x", bigBytes))
	sized := func(status int, body []byte) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			atomic.AddUint64(&counts.Requests, 1)
			if status != http.StatusNoContent {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			}
			w.WriteHeader(status)
			w.Write(body)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/", sized(200, body))
	mux.Handle("/big", sized(200, big))
	mux.Handle("/204", sized(204, nil))
	mux.Handle("/500", sized(500, body))
	mux.HandleFunc("/chunked", func(w http.ResponseWriter, r *http.Request) {
		atomic.AddUint64(&counts.Requests, 1)
		w.Write(body[:100])
		w.(http.Flusher).Flush()
		w.Write(body[100:])
	})
	mux.HandleFunc("/length", func(w http.ResponseWriter, r *http.Request) {
		atomic.AddUint64(&counts.Requests, 1)
		length, err := io.Copy(io.Discard, r.Body)
		if err == nil {
			fmt.Fprint(w, length)
		}
	})
	mux.HandleFunc("/received", func(w http.ResponseWriter, r *http.Request) {
		atomic.AddUint64(&counts.Requests, 1)
		hash := sha256.New()
		length, err := io.Copy(hash, r.Body)
		if err == nil {
			fmt.Fprintf(w, "%d bytes, said %d, %v, %q, %x", length, r.ContentLength, r.TransferEncoding,
				r.Header.Get("Expect"), hash.Sum(nil))
		}
	})
	// Answers without reading the body.
	mux.Handle("/refused", sized(417, body))
	mux.HandleFunc("/onwards", func(w http.ResponseWriter, r *http.Request) {
		atomic.AddUint64(&counts.Requests, 1)
		http.Redirect(w, r, "/received", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/events", streamEvents)
	mux.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		atomic.AddUint64(&counts.Requests, 1)
		http.Redirect(w, r, "/events?"+r.URL.RawQuery, http.StatusFound)
	})
	return mux
}

// Sends `n` server-sent events `gap` apart, each flushed behind a comment, and the end marker. With `stall` it stops
// before it, until the client leaves.
func streamEvents(w http.ResponseWriter, r *http.Request) {
	atomic.AddUint64(&counts.Requests, 1)
	query := r.URL.Query()
	n, err := strconv.Atoi(query.Get("n"))
	check(err)
	gap, err := time.ParseDuration(query.Get("gap"))
	check(err)
	w.Header().Set("Content-Type", "text/event-stream")
	out, flush := io.Writer(w), w.(http.Flusher).Flush
	if query.Has("gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		packer := gzip.NewWriter(w)
		defer packer.Close()
		out, flush = packer, func() { packer.Flush(); w.(http.Flusher).Flush() }
	}
	for event := 0; event < n; event++ {
		select {
		case <-r.Context().Done():
			atomic.AddUint64(&counts.Left, 1)
			return
		case <-time.After(gap):
		}
		fmt.Fprintf(out, ": keep-alive\r\n\r\nevent: token\r\ndata: {\"nth\": %d}\r\n\r\n", event)
		flush()
		atomic.AddUint64(&counts.Events, 1)
	}
	if query.Has("stall") {
		<-r.Context().Done()
		atomic.AddUint64(&counts.Left, 1)
		return
	}
	fmt.Fprint(out, "data: [DONE]\n\n")
}

func showCounts(w http.ResponseWriter, _ *http.Request) {
	seen := Counts{
		atomic.LoadUint64(&counts.Connections), atomic.LoadUint64(&counts.HandshakesFull),
		atomic.LoadUint64(&counts.HandshakesResumed), atomic.LoadUint64(&counts.HandshakesFailed),
		atomic.LoadUint64(&counts.ClientCertificates), atomic.LoadUint64(&counts.Requests),
		atomic.LoadUint64(&counts.Events), atomic.LoadUint64(&counts.Left),
	}
	check(json.NewEncoder(w).Encode(seen))
}

func min1(n int) int {
	if n > 1 {
		return 1
	}
	return n
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
