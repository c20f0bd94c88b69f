#!/bin/sh
# Runs nginx for the plans in this folder until Ctrl-C, on 127.0.0.1 only: 8080 plain, 8443 TLS, 8444 TLS with client
# certificates. Keys and certificates are made on the first start; everything it writes is in run/, which git ignores.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
umask 022
mkdir -p "$here/run/pki"
cd "$here/run/pki"

# certificate NAME SUBJECT KEY-ARGUMENTS EXTENSIONS
certificate() {
    # shellcheck disable=SC2086 # the arguments of the key are several words
    openssl req -new -newkey $3 -nodes -keyout "$1.key" -subj "/CN=$2" -out "$1.csr" 2>/dev/null
    printf '%s\n' "$4" >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
    rm "$1.csr" "$1.ext"
}

if [ ! -f client.pem ] || [ ! -f ecdsa.pem ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 30 \
        -subj "/CN=example CA" 2>/dev/null
    for key in "rsa rsa:2048" "ecdsa ec -pkeyopt ec_paramgen_curve:P-256"; do
        certificate "${key%% *}" localhost "${key#* }" "subjectAltName = DNS:localhost, IP:127.0.0.1"
    done
    certificate client "load generator" "ec -pkeyopt ec_paramgen_curve:P-256" "extendedKeyUsage = clientAuth"
fi

# key.sh changes it.
cp rsa.key server.key
cp rsa.pem server.pem

exec nginx -p "$here/run/" -c "$here/nginx.conf" -e stderr
