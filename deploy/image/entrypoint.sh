#!/bin/sh
# Starts the part that the first word names; other words are those of the command line. `exec` leaves no shell between
# process 1 and the program, which therefore gets every signal.
set -eu
# A dump of the memory would have every secret of the process.
ulimit -c 0
programs=$(dirname "$0")/dist
case "${1-}" in
  proxy | control)
    part=$1
    shift
    exec node --enable-source-maps "$programs/$part/main.js" "$@"
    ;;
  *) exec node "$programs/control/cli.js" "$@" ;;
esac
