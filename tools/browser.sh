#!/bin/sh
# Make a browser ready for the browser tests: install Debian's Chromium where root and apt allow it.
# It never fails: the tests say themselves what is missing, and where CI is set that is a failure.

found() { # the names that tests/conftest.py looks for
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

if found >/dev/null; then
    exit 0
fi
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    echo "installing Debian's chromium for the browser tests"
    apt-get -qq update >/dev/null &&
        DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
            chromium fonts-dejavu-core >/dev/null
fi
if ! found >/dev/null; then
    echo "NO BROWSER TEST WILL RUN: there is no Chromium; as root: apt-get install chromium" >&2
fi
exit 0
