#!/bin/sh
# key.sh rsa|ecdsa: gives the nginx of start.sh this key, and returns once no worker has another.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
cd "$here/run"
if [ ! -f "pki/$1.pem" ] || [ ! -f nginx.pid ]; then
    echo "no key $1 in $here/run/pki, or no nginx: run start.sh, which makes rsa and ecdsa" >&2
    exit 1
fi
cp "pki/$1.key" pki/server.key
cp "pki/$1.pem" pki/server.pem
old=$(pgrep -P "$(cat nginx.pid)")
kill -HUP "$(cat nginx.pid)"
# Old workers take connections until the new ones do, and end when they have none left.
for worker in $old; do
    while kill -0 "$worker" 2>/dev/null; do
        sleep 0.05
    done
done
