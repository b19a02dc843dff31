#!/usr/bin/env bash
# The plain loop one writes in an evening: a work tree per issue, the agent, the tests, a merge; a red test goes back to
# the agent, three times. It runs JOBS issues at a time, and when it is started again it skips what is merged.
set -u
repo=$1 jobs=$2 agent=$3 tests=$4
shift 4
cd "$repo" || exit 1

merged() { git log --format=%s main | grep -qx "Issue $1"; }

work() {
  local issue=$1 tree=$repo/../trees/$1
  git worktree remove --force "$tree" 2>/dev/null
  git worktree add -q -B "issue-$issue" "$tree" main || return 1
  for try in 1 2 3; do
    echo "#$issue try $try"
    if ! (cd "$tree" && FORGE_ROLE=coder FORGE_ISSUE=$issue sh -c "$agent" <"$repo/../issues/$issue.md"); then
      echo "#$issue the agent failed"
      sleep 5
      continue
    fi
    git -C "$tree" add -A && git -C "$tree" commit -qm "Issue $issue"
    if (cd "$tree" && sh -c "$tests"); then
      # One merge at a time.
      flock ../merge.lock git merge -q --no-ff -m "Issue $issue" "issue-$issue" && echo "#$issue merged" && return
      flock ../merge.lock git merge --abort
      echo "#$issue conflicts" && return
    fi
    echo "#$issue tests are red"
  done
  echo "#$issue given up"
}

for issue in "$@"; do
  merged "$issue" && continue
  while [ "$(jobs -pr | wc -l)" -ge "$jobs" ]; do wait -n; done
  work "$issue" &
done
wait
