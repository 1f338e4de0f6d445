#!/bin/sh
# Makes the installer for Windows of the files in a folder:
#   installer.sh FOLDER VERSION INSTALLER
# It needs makensis (Debian's package is nsis).
set -eu
from=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
to=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
list=$(mktemp)
trap 'rm -f "$list"' EXIT
(
	cd "$from"
	# What the uninstaller removes: files, then folders from the innermost on.
	find . -type f | LC_ALL=C sort | sed -e 's:^\./::' -e 's:/:\\:g' -e 's:.*:Delete "$INSTDIR\\&":'
	find . -mindepth 1 -type d | LC_ALL=C sort -r | sed -e 's:^\./::' -e 's:/:\\:g' -e 's:.*:RMDir "$INSTDIR\\&":'
) >"$list"
makensis -V2 -INPUTCHARSET UTF8 "-DFROM=$from" "-DVERSION=$2" "-DOUT=$to" "-DLIST=$list" "-DICON=$here/resources/icon.ico" "$here/installer.nsi"
"$here/sign.sh" "$to"
