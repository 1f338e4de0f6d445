#!/bin/sh
# Signs a program for Windows, or does nothing without a certificate:
#   SIGN_CERTIFICATE  the certificate and its key, a file in PKCS#12
#   SIGN_PASSWORD     a file with the password of the key
#   SIGN_TIME         the server that attests the time of the signature; empty for none
# It needs osslsigncode.
set -eu
[ -n "${SIGN_CERTIFICATE:-}" ] || exit 0
time=${SIGN_TIME-http://timestamp.digicert.com}
signed=$(mktemp -u "$1.XXXXXX")
osslsigncode sign -pkcs12 "$SIGN_CERTIFICATE" -readpass "$SIGN_PASSWORD" -h sha256 \
	-n bcdissect -i https://github.com/bcdissect/bcdissect ${time:+-ts "$time"} -in "$1" -out "$signed"
chmod --reference="$1" "$signed"
mv "$signed" "$1"
