#!/usr/bin/env bash
# Makes the documentation site in target/site/html. tools/setup.sh has to have run. PYTHON names another interpreter that has
# pullnet; the packages of the site are in .venv-docs.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-.venv/bin/python}
lock=$(sha256sum tools/site/requirements.lock | cut -d ' ' -f 1)

if [ "$(cat .venv-docs/.packages 2>/dev/null)" != "$lock" ]; then
    echo "docs: installing the packages of the site"
    "$python" -m venv --clear .venv-docs
    .venv-docs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r tools/site/requirements.lock
    echo "$lock" >.venv-docs/.packages
fi
"$python" tools/site/assemble.py target/site
NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --config-file target/site/mkdocs.yml
"$python" tools/site/site_check.py target/site/html
echo "docs: open target/site/html/index.html"
