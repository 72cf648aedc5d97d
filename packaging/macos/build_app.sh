#!/bin/sh
# On a Mac, after packaging/bundle.py: checks dist/TurboQuant Chat.app and packs it for giving away. Ad-hoc signed, a zip.
# With MACOS_IDENTITY ("Developer ID Application: …", in the keychain) while both run, it is signed with it and the
# hardened runtime; with NOTARY_PROFILE too (see `xcrun notarytool store-credentials`) it is notarised, and a dmg made.
set -eu
cd "$(dirname "$0")/../.."
app="dist/TurboQuant Chat.app"
version=$(.venv/bin/python packaging/macos/app_info.py)
archive="dist/turboquant-chat-$version-macos-arm64.zip"

codesign --verify --deep --strict --verbose=2 "$app"
.venv/bin/python packaging/macos/check_app.py "$app"
pack() { rm -f "$archive" && ditto -c -k --sequesterRsrc --keepParent "$app" "$archive"; }
pack
if [ -n "${MACOS_IDENTITY:-}" ] && [ -n "${NOTARY_PROFILE:-}" ]; then
    xcrun notarytool submit "$archive" --keychain-profile "$NOTARY_PROFILE" --wait
    xcrun stapler staple "$app"
    spctl --assess --type execute --verbose "$app"
    pack
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    ditto "$app" "$folder/TurboQuant Chat.app"
    ln -s /Applications "$folder/Applications"
    image="dist/turboquant-chat-$version-macos-arm64.dmg"
    hdiutil create -volname "TurboQuant Chat" -srcfolder "$folder" -ov -format UDZO "$image"
    codesign --sign "$MACOS_IDENTITY" --timestamp "$image"
    xcrun notarytool submit "$image" --keychain-profile "$NOTARY_PROFILE" --wait
    xcrun stapler staple "$image"
fi
ls -l dist
