#!/bin/sh
# Builds the packages for this system (and an archive for Windows) twice, which
# has to give the same files, and tries them: "make package-check" runs it. What
# is not installed here is left out, and this is said. The program for Windows is
# compiled without the profile: the release and "make packages" use it. The package for Debian is
# installed and removed only where CI is set, since that changes the system.
set -eu
cd "$(dirname "$0")/../../.."
platforms="$(go env GOHOSTOS)/$(go env GOHOSTARCH) windows/amd64"
folder=dist/packages
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

has() {
	command -v "$1" >/dev/null && return
	echo "package-check: without $1, which is not installed: $2" >&2
	return 1
}

# try PROGRAM: the program runs, reads a capture, and holds the page.
try() {
	"$1" version | grep -q '^bcdissect '
	"$1" read fixtures/captures/join_flow.pcap | grep -q ChecksumRequest
	"$1" web "$dir/missing" 2>&1 | grep -q 'no such file' # it holds the page
}

make --no-print-directory packages PLATFORMS="$platforms" FOREIGN_PROFILE=off
cp $folder/SHA256SUMS "$dir/first"
make --no-print-directory packages PLATFORMS="$platforms" FOREIGN_PROFILE=off >"$dir/said" 2>&1 || { cat "$dir/said"; exit 1; }
diff "$dir/first" $folder/SHA256SUMS || { echo "package-check: the second build differs" >&2; exit 1; }
if has sha256sum "the checksums are not checked"; then
	(cd $folder && sha256sum --check --quiet SHA256SUMS)
fi
if has ruby "the formula is not checked"; then
	ruby -c $folder/bcdissect.rb >/dev/null
fi
if has git "the workflows are not checked" && git rev-parse --git-dir >/dev/null 2>&1; then
	go run "$ACTIONLINT"
fi

go run "$WINRES" make --in cmd/bcdissect/packaging/windows/resources/resources.json --arch 386,amd64,arm64 --out "$dir/rsrc"
for system in 386 amd64 arm64; do
	cmp "$dir/rsrc_windows_$system.syso" "cmd/bcdissect/rsrc_windows_$system.syso" || { echo 'package-check: "make resources" brings it up to date' >&2; exit 1; }
done

mkdir "$dir/archive"
tar -xzf $folder/bcdissect_*.tar.gz -C "$dir/archive"
try "$dir/archive/bcdissect"
test -s "$dir/archive/bcdissect-engine.so"
test -s "$dir/archive/man/bcdissect-read.1"
test -s "$dir/archive/completions/bcdissect.bash"
grep -q 'Apache License' "$dir/archive/licences.txt"
grep -q 'Andrew G. Morgan' "$dir/archive/licences.txt" # whose licence names no holder
bash -n "$dir/archive/completions/bcdissect.bash"
if has unzip "the archive for Windows is not checked"; then
	unzip -tq $folder/*.zip
	if has x86_64-w64-mingw32-gcc "the archive for Windows lacks the engine for Wireshark"; then
		unzip -l $folder/*.zip | grep -q ' bcdissect/bcdissect-engine\.dll$'
	fi
	unzip -q $folder/*.zip -d "$dir/zip"
	grep -aq 'activeCodePage.*UTF-8' "$dir/zip/bcdissect/bcdissect.exe" # it has its manifest
	tr -d '\000' <"$dir/zip/bcdissect/bcdissect.exe" | grep -aq "ProductVersion.*$(bin/bcdissect version | cut -d ' ' -f 2)"
fi

if has rpm "the rpm is not checked"; then
	rpm -qlp $folder/*.rpm | grep -qx /usr/bin/bcdissect
	rpm -qlp $folder/*.rpm | grep -qx /usr/lib/bcdissect/bcdissect-engine.so
	rpm -K --nosignature $folder/*.rpm
fi
if has systemd-analyze "the unit is not checked" && has dpkg-deb "the unit is not checked"; then
	mkdir "$dir/deb"
	dpkg-deb -x $folder/*.deb "$dir/deb"
	grep -q 'Charmbracelet' "$dir/deb/usr/share/doc/bcdissect/copyright"
	sed "s:/usr/bin/bcdissect:$dir/archive/bcdissect:" "$dir/deb/usr/lib/systemd/system/bcdissect-relay.service" >"$dir/bcdissect-relay.service"
	systemd-analyze verify "$dir/bcdissect-relay.service"
fi
if has lintian "the deb is not checked"; then
	lintian --allow-root --fail-on error,warning $folder/*.deb
fi
if [ -z "${CI:-}" ] || [ "$(id -u)" != 0 ]; then
	echo "package-check: the deb is not installed; that takes root and CI=1" >&2
elif has dpkg "the deb is not installed"; then
	if dpkg-query -W bcdissect >/dev/null 2>&1; then
		echo "package-check: bcdissect is installed here; remove it first" >&2
		exit 1
	fi
	trap 'dpkg -P bcdissect >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
	dpkg -i $folder/*.deb
	try /usr/bin/bcdissect
	dpkg -r bcdissect
	test ! -e /usr/bin/bcdissect
fi
echo "package-check: all is well"
