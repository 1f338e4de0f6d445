#!/bin/sh
# The first argument is the number of versions that stay.
if [ "$1" = 0 ] && [ -d /run/systemd/system ]; then
	systemctl --no-reload disable --now bcdissect-relay.service >/dev/null 2>&1 || :
fi
