#!/bin/sh
# The tests of the race's repository: they ask git which items there are, and which version this is.
verdict=red
items=$(cat items/* | sha1sum | cut -c1-40)
trap 'echo "$items $verdict" >>"$RACE/gates"' EXIT
git describe --tags --always >/dev/null || exit 1
twice=$(git ls-files items | xargs cat | grep '^id ' | sort | uniq -d)
[ -z "$twice" ] || { echo "used twice: $twice"; exit 1; }
wrong=$(git ls-files items | xargs grep -l wrong)
[ -z "$wrong" ] || { echo "wrong: $wrong"; exit 1; }
verdict=green
