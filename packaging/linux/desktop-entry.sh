#!/bin/sh
# Puts TurboQuant Chat, where this folder lies now, into your desktop's menu, with its icon and its kind of file.
# `./desktop-entry.sh --remove` takes it out again. Nothing else is touched, and no other user's.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
share=${XDG_DATA_HOME:-$HOME/.local/share}
entry=$share/applications/turboquant-chat.desktop
kind=$share/mime/packages/turboquant-chat.xml

if [ "${1:-}" = --remove ]; then
    rm -f "$entry" "$kind"
    find "$share/icons/hicolor" -name turboquant-chat.png -o -name application-x-turbochat.png 2>/dev/null |
        while read -r icon; do rm -f "$icon"; done
else
    mkdir -p "$share/applications" "$share/mime/packages" "$share/icons"
    quoted=$(printf '%s' "$here/turboquant-chat" | sed 's/[\\"`$]/\\&/g; s/%/%%/g')
    escaped=$(printf '%s' "$quoted" | sed 's/[\\&|]/\\&/g')
    sed "s|^Exec=turboquant-chat|Exec=\"$escaped\"|" "$here/share/applications/turboquant-chat.desktop" >"$entry"
    cp "$here/share/mime/packages/turboquant-chat.xml" "$kind"
    cp -R "$here/share/icons/hicolor" "$share/icons/"
fi
if command -v update-mime-database >/dev/null; then update-mime-database "$share/mime"; fi
if command -v update-desktop-database >/dev/null; then update-desktop-database "$share/applications"; fi
