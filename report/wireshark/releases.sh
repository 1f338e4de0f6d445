#!/bin/sh
# Runs the tests of the plugin with the Wireshark of later releases of Debian, each in
# a folder of its own with that release: "make wiresharks" runs it. It needs root, for
# debootstrap and chroot. The folders stay for the next time in the user's cache;
# remove one to get a newer release.
set -eu
cd "$(dirname "$0")/../.."

leave() {
	echo "wiresharks: left out: $1" >&2
	exit 0
}
[ "$(id -u)" = 0 ] || leave "it takes root"
command -v debootstrap >/dev/null || leave "debootstrap is not installed"
command -v unshare >/dev/null || leave "unshare (util-linux) is not installed"

# Packages come from where this system has its own from, and are checked with the same
# keys.
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian //p' | sed 1q)
[ -n "$mirror" ] || leave "apt knows no mirror of Debian"

# make_root SUITE FOLDER: a release of Debian with Wireshark and a C compiler. A folder
# that was not finished is made anew.
make_root() {
	rm -rf "$2.part"
	mkdir -p "$2.part"
	debootstrap --variant=minbase "$1" "$2.part" "$mirror"
	printf '#!/bin/sh\nexit 101\n' >"$2.part/usr/sbin/policy-rc.d" # no service is started
	chmod 755 "$2.part/usr/sbin/policy-rc.d"
	for file in /etc/apt/apt.conf.d/*; do # how this system reaches the mirror
		! grep -q '^Acquire' "$file" || cp "$file" "$2.part/etc/apt/apt.conf.d/"
	done
	DEBIAN_FRONTEND=noninteractive chroot "$2.part" sh -eu -c '
		apt-get update -q
		apt-get install -qy --no-install-recommends wireshark tshark xvfb xdotool gcc libc6-dev
		apt-get clean'
	mv "$2.part" "$2"
}

# inside FOLDER COMMAND: runs a command in this folder of the other system, with the
# Go of this one. Mounts end with the command.
inside() {
	unshare --mount sh -eu -c '
		root=$1
		shift
		mount -t tmpfs tmpfs "$root/tmp" # first: the folders below may be in it
		chmod 1777 "$root/tmp"
		for folder in "$PWD" "$(go env GOROOT)" "$(go env GOMODCACHE)" "$(go env GOCACHE)"; do
			mkdir -p "$folder" "$root$folder"
			mount --bind "$folder" "$root$folder"
		done
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" env -i HOME=/root PATH="$(go env GOROOT)/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
			GOFLAGS="-trimpath -buildvcs=false" GOPROXY=off GOTOOLCHAIN=local GOCACHE="$(go env GOCACHE)" GOMODCACHE="$(go env GOMODCACHE)" \
			BCDISSECT_SYSTEM=1 BCDISSECT_LONG="${BCDISSECT_LONG:-}" sh -eu -c '\''cd "$1" && shift && exec "$@"'\'' - "$PWD" "$@"
	' - "$@"
}

go mod download
for suite in trixie sid; do
	root=${XDG_CACHE_HOME:-$HOME/.cache}/bcdissect/debian-$suite
	[ -d "$root" ] || make_root "$suite" "$root"
	echo "wiresharks: $suite: $(chroot "$root" tshark --version 2>/dev/null | sed 1q)"
	inside "$root" go test -count=1 -timeout 60m -skip '^TestTsharkSpeed$' ./report/wireshark ./cmd/internal/wireshark
done
