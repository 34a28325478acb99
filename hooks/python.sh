#!/bin/sh
# Run Python 3.11 or newer with the given arguments; a machine with an older `python3` often has a newer one beside it.
for python in python3 python3.13 python3.12 python3.11; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then exec "$python" "$@"; fi
done
# The hook runs after each edit of an assistant, so it is silent about files that the linter does not read.
case "$1" in
  */hook.py) grep -Eiq '"(file_|notebook_)?path" *: *"[^"]*\.(py|ipynb|md|markdown|scala|java|sql|json|ya?ml|tf)"' || exit 0 ;;
esac
echo "spark-real-time-mode: found no Python 3.11 or newer, so nothing was checked; install one" >&2
exit 1
