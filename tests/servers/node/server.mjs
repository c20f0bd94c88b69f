// Node's http2 (which speaks HTTP/1.1 too): PORT CERT KEY [HEADER_TABLE_SIZE]. Writes a line for each handshake and request.
// Beside the files of html: /100/N and /103/N send N interim answers before the answer.
import fs from 'node:fs';
import http2 from 'node:http2';

const [port, cert, key, headerTableSize] = process.argv.slice(2);
const files = { '/': fs.readFileSync('html/index.html'), '/big': fs.readFileSync('html/big') };

function say(request, status) {
  const socket = request.stream?.session?.socket ?? request.socket;
  const resumed = socket.isSessionReused();
  process.stdout.write(`row ${socket.remotePort} ${resumed} ${request.httpVersion} ${status} ${request.url}\n`);
}

function serve(request, response) {
  const [, status, interim] = request.url.split('/');
  for (let n = 0; n < Number(interim); n++) {
    if (status === '100') response.writeContinue();
    else response.writeEarlyHints({ link: '</style.css>; rel=preload' });
  }
  const body = files[request.url] ?? files['/'];
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': body.length });
  response.end(body);
  say(request, 200);
}

const settings = headerTableSize === undefined ? {} : { headerTableSize: Number(headerTableSize) };
const options = { cert: fs.readFileSync(cert), key: fs.readFileSync(key), allowHTTP1: true, settings };
const server = http2.createSecureServer(options, serve);
server.on('secureConnection', (socket) => process.stdout.write(`handshake ${socket.remotePort}\n`));
server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4096 });
