#!/usr/bin/env bash
# Builds the site of docs/ in build/site/html, to be opened without a server.
#
#   scripts/build-site.sh [FOLDER]
#
# Fails for a broken link or anchor, and for a page that the navigation
# (docs/site/navigation.toml) leaves out. Needs scripts/install-deps.sh --site.
set -o errexit -o nounset -o pipefail
case "${1:-}" in -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
site=$(realpath -m "${1:-$(dirname "$0")/../build/site}")
cd "$(dirname "$0")/.."
.venv/bin/python -c 'import sphinx, myst_parser, furo' 2>/dev/null || {
  echo "build-site: Sphinx is not installed: run scripts/install-deps.sh --site" >&2
  exit 1
}
rm -rf "$site"
.venv/bin/python -m sphinx -q -b html -j auto --fail-on-warning --keep-going \
  -c docs/site -d "$site/doctrees" . "$site/html" || {
  echo "build-site: the pages named above are wrong; nothing was built" >&2
  rm -rf "$site"
  exit 1
}
echo "build-site: $site/html/index.html"
