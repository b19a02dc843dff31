/** How a child is born held: a shell that waits for the word `go` on its fourth file, then becomes the program. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { bootId, processAt } from './table.ts';

/** The runner dies first: the shell reads the end of the file instead, and exits; nothing ran. */
export const HELD = 'read -r go <&3 && [ "$go" = go ] && exec 3<&- && exec "$@"';

/**
 * The same for a child that is talked to. An agent that nobody hears any more may go on asking its provider for ever, so
 * somebody of its own group stays and listens: when the fourth file ends without a word, the runner is dead, and the
 * group is asked to end and then killed. Whoever left the group is found by its mark when a runner takes over.
 */
export const HELD_AND_HEARD = `read -r go <&3 && [ "$go" = go ] || exit
(read -r over || { kill -TERM $$; sleep 1; kill -KILL 0; }) <&3 3<&- >/dev/null 2>&1 &
exec 3<&-
exec "$@"`;

/**
 * The same for a child at a terminal of its own. The shell stays: who relays a terminal (`script`) takes any other child for the
 * one it serves.
 */
export const HELD_AT_TERMINAL = `read -r go <&3 && [ "$go" = go ] || exit
(trap '' TERM; read -r over || { kill -TERM 0; sleep 1; kill -KILL 0; }) <&3 3<&- >/dev/null 2>&1 &
exec 3<&-
"$@"
exit $?`;

/**
 * The same for a child whose end is to be known whoever lives: the shell stays, and writes the exit down where nothing
 * but a whole record ever stands ($1). A child that writes must not die of a runner that no longer reads, so what it says
 * from then on goes to the log ($2), up to a limit ($3). A runner that is about to die looks alive, so whoever reads in its
 * stead is not ended here: a runner that lives ends it. The pipe is opened anew because our runner's end of it
 * never waits, and while there is somebody to write to it, without whom that would wait for ever.
 *
 * Where the child ends with its runner ($4 is `ends`, not `goes_on`), whoever reads asks the group to end, and kills it if it
 * does not. A child that had ended by itself is no longer there to be asked, and its exit is still written.
 */
export const HELD_AND_RECORDED = `read -r go <&3 && [ "$go" = go ] || exit
record=$1 log=$2 limit=$3 then=$4; shift 4
exec 4</dev/fd/4
(
  read -r over <&3 && exit
  if [ $then = ends ]; then
    trap '' TERM
    kill -TERM 0
    (sleep 1; kill -KILL 0) &
  fi
  head -c "$limit" >>"$log"
  cat
  [ $then = goes_on ] || kill -KILL $!
) <&4 >/dev/null 2>&1 &
reader=$!
"$@" 3<&- 4<&-
code=$?
trap '' TERM
exec >/dev/null 2>&1
if ! kill -0 $PPID; then
  waited=0
  while [ $waited -lt 30 ] && kill -0 $reader; do sleep 0.1 || sleep 1; waited=$((waited + 1)); done
fi
printf '{"code":%s}' $code >"$record.new" && sync "$record.new"
mv -f "$record.new" "$record" && sync "\${record%/*}"
trap - TERM
[ $code -le 128 ] || kill -$((code - 128)) $$
exit $code`;

export interface Introduction {
  pid: number;
  startTime: string;
  bootId: string;
}

/** Who the child is, once it is there; what recovery needs to find it again. */
export async function introduced(child: ChildProcess): Promise<Introduction> {
  await once(child, 'spawn');
  const pid = child.pid as number;
  const startTime = processAt(pid)?.startTime;
  if (startTime === undefined) throw new Error(`the child ${pid} ended while it was held`);
  return { pid, startTime, bootId: bootId() };
}
