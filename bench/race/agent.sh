#!/usr/bin/env bash
# The agent of the race, the same for everybody: what it does depends on the issue and on how often it was asked for it.
# RACE is the race's folder: there it writes down each turn, and there it meets the referee.
set -u
cat >/dev/null
issue=$FORGE_ISSUE role=${FORGE_ROLE:-coder}
note() { printf '%s %s %s\n' "$issue" "$role" "$1" >>"$RACE/turns"; }
# Waits for the referee, who may never come.
await() { for _ in $(seq 600); do [ -e "$RACE/$1" ] && return; sleep 0.1; done; }
write() { mkdir -p items && printf 'id %s\n%s\n' "$1" "$2" >"items/$issue"; }

# An outage is for everybody, and nobody pays for it.
if [ -e "$RACE/outage" ]; then
  note refused
  echo "503 Service Unavailable" >&2
  exit 1
fi

if [ "$role" = critic ]; then
  note paid
  echo '{"structured":{"verdict":"APPROVE","findings":[]}}' >"$FORGE_RESULT"
  exit 0
fi

asked=$(grep -c "^$issue coder paid" "$RACE/turns" 2>/dev/null)
if [ "$issue" = 10 ] && [ ! -e "$RACE/said-later" ]; then
  : >"$RACE/said-later"
  note refused
  [ -z "${FORGE_RESULT:-}" ] || printf '{"error":{"code":"rate_limit","message":"later","retry_at":"%s"}}' "$(date -u -d '+5 seconds' +%FT%TZ)" >"$FORGE_RESULT"
  echo "rate limited: try again in 5 s" >&2
  exit 75
fi
if [ "$issue" = 10 ] && [ "$(($(date +%s) - $(stat -c %Y "$RACE/said-later")))" -lt 5 ]; then
  note refused
  echo "rate limited: I said 5 s" >&2
  exit 75
fi

note paid
# Two at once in one work tree undo each other's work.
for other in "$RACE"/at-work/"$issue".*; do
  [ -e "/proc/${other##*.}" ] && note beside-another
done
: >"$RACE/at-work/$issue.$$"
trap 'rm -f "$RACE/at-work/$issue.$$"' EXIT
sleep "${RACE_TURN_S:-1}"

case $issue in
  3) # The runner is killed while it works; it works on for a while.
    if [ "$asked" = 0 ]; then
      : >"$RACE/kill-3"
      await killed-3
      sleep 4
    fi
    write 3 "fine" ;;
  4) # The runner is killed, and it finishes while no runner lives.
    if [ "$asked" = 0 ]; then
      : >"$RACE/kill-4"
      await killed-4
    fi
    write 4 "fine" ;;
  5) # The provider is out from here on, until the referee mends it.
    if [ "$asked" = 0 ]; then
      : >"$RACE/outage"
      note failed
      echo "503 Service Unavailable" >&2
      exit 1
    fi
    write 5 "fine" ;;
  6) if [ "$asked" = 0 ]; then write 6 "wrong"; else write 6 "fine"; fi ;;
  7 | 8) # Green alone, red together: both choose the same id while they work side by side.
    if [ "$asked" = 0 ]; then
      : >"$RACE/started-$issue"
      for _ in $(seq 50); do [ -e "$RACE/started-7" ] && [ -e "$RACE/started-8" ] && break; sleep 0.1; done
      write 78 "fine"
    else
      write "$issue" "fine"
    fi ;;
  *) write "$issue" "fine" ;;
esac
note done
[ -z "${FORGE_RESULT:-}" ] || echo '{"text":"done"}' >"$FORGE_RESULT"
