#!/bin/sh
# Make a browser ready for the browser tests, and a reader of the PDF files that it prints: install
# Debian's Chromium and poppler-utils where root and apt allow it.
# It never fails: the tests say themselves what is missing, and where CI is set no browser is a failure.

found() { # the names that tests/conftest.py looks for
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

missing=""
found >/dev/null || missing="chromium fonts-dejavu-core"
command -v pdftotext >/dev/null || missing="$missing poppler-utils"
if [ -z "$missing" ]; then
    exit 0
fi
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "installing Debian's packages for the browser tests:" $missing
    # the names are words
    # shellcheck disable=SC2086
    apt-get -qq update >/dev/null &&
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
fi
if ! found >/dev/null; then
    echo "NO BROWSER TEST WILL RUN: there is no Chromium; as root: apt-get install chromium" >&2
fi
exit 0
