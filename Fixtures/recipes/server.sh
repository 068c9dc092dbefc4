#!/bin/bash
# What a test server needs: a certificate of its own that nobody has signed, with its key, and a body that grows much
# when it is decompressed. The key protects nothing. Running it again makes other bytes of the same kind.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p server
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 \
    -subj '/CN=coderhost test server' \
    -addext 'subjectAltName=DNS:localhost,DNS:tls.test,IP:127.0.0.1,IP:::1' \
    -keyout server/key.pem -out server/certificate.pem
chmod 644 server/key.pem
# One MiB of zeros.
head -c 1048576 /dev/zero | gzip -9n >server/zeros.gz
for name in certificate.pem:'a certificate that nobody has signed, for localhost, tls.test and loopback' \
    key.pem:'the key of that certificate' zeros.gz:'one MiB of zeros, compressed'; do
    ./add-entry "server/${name%%:*}" --shows "${name#*:}" --error unrecognizedFormat --format none \
        --origin recipes/server.sh
done
