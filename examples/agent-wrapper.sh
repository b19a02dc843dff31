#!/bin/sh
# Lets any program that reads a prompt on its stdin be an agent (agent.kind: command). docs/command-agent.md has the whole
# contract. `my-agent` stands for yours; it keeps the conversation of a session in the session's own folder.
set -eu
history="$FORGE_SESSION_DIR/history.json"
if [ "$FORGE_RESUME" = 1 ] && [ -f "$history" ]; then set -- --continue; else set --; fi

# A role that has to return an answer in a schema gets the schema's file: the critic, for one.
if [ -n "${FORGE_OUTPUT_SCHEMA:-}" ]; then
  answer=$(my-agent "$@" --history "$history" --json-schema "$FORGE_OUTPUT_SCHEMA")
  printf '{"structured": %s}\n' "$answer" >"$FORGE_RESULT"
else
  my-agent "$@" --history "$history"
fi
