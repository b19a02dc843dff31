/**
 * The stand-ins: short POSIX scripts under the names of git, the forges' programs and our own. They look at what is run, with
 * its words taken apart by a shell, so a word in a message is only a word, and a command inside `sh -c` is a command.
 *
 * They keep nobody out: the agent holds no credential for a forge, its workspace has no remote, and only a sandbox can
 * confine it. They tell an honest agent early, and us, that it is about to do what is not its to do. What it does to repositories
 * that it made itself, as tests do in a temporary folder, is its own affair and goes through.
 *
 * The names of the paths are written into the scripts: whoever is started with another environment finds them as well.
 */
import { REFUSALS, type Refusal } from './refusal.ts';

interface Paths {
  workspace: string;
  /** Below these it may have repositories of its own. */
  ownRoots: readonly string[];
  /** Where each refusal is noted: its kind, a space, the command, a NUL. */
  notes: string;
}

/** By file name. */
export const standInScripts = (paths: Paths): Record<string, string> => ({
  git: git(paths),
  gh: always('forge', paths),
  glab: always('forge', paths),
  hub: always('forge', paths),
  'forge-loop': always('loop', paths),
  npx: npx(paths),
});

/** For shells of login, whose profile may have set another PATH: the folder comes first again. POSIX; zsh and bash read it too. */
export const firstInPath = (folder: string): string => `forge_first=${quoted(folder)}
forge_path=:$PATH:
case $forge_path in
  ":$forge_first:"*) ;;
  *":$forge_first:"*)
    forge_path=\${forge_path%%":$forge_first:"*}:\${forge_path#*":$forge_first:"}
    forge_path=\${forge_path%:}
    PATH=$forge_first$forge_path
    ;;
  *) PATH=$forge_first:$PATH ;;
esac
export PATH
unset forge_first forge_path
`;

/** Read by every bash that is not interactive, after its profile. */
export const bashEnv = (folder: string, before: string | undefined): string =>
  `${before ? `. ${quoted(before)}\n` : ''}if shopt -q login_shell; then\n${firstInPath(folder)}fi\n`;

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

/** Its first argument is the kind of the refusal, the others are the command. */
const refuse = ({ notes }: Paths, ...kinds: Refusal[]): string => `refuse() {
  kind=$1
  shift
  { printf '%s %.500s\\0' "$kind" "$*" >>${quoted(notes)}; } 2>/dev/null
  case $kind in
${kinds.map((kind) => `    ${kind}) why=${quoted(REFUSALS[kind])} ;;`).join('\n')}
  esac
  printf 'forge-loop refused this command: %s\\n' "$why" >&2
  exit 1
}
`;

/** The next of that name on the PATH: whoever stands before us was passed over by the caller, or is a stand-in that led here. */
const findReal = (name: string): string => `real=
ifs=$IFS
IFS=:
set -f
for folder in $PATH; do
  found=\${folder:-.}/${name}
  if [ "$found" -ef "$0" ]; then
    real=
  elif [ -z "$real" ] && [ -f "$found" ] && [ -x "$found" ]; then
    real=$found
  fi
done
set +f
IFS=$ifs
if [ -z "$real" ]; then
  echo '${name}: not found' >&2
  exit 127
fi
`;

const always = (kind: Refusal, paths: Paths): string =>
  `#!/bin/sh\n${refuse(paths, kind)}refuse ${kind} "\${0##*/}" "$@"\n`;

/** The verb, the first word behind it, and how many words are before it; an alias that is given with it is what it stands for. */
const git = (paths: Paths): string => `#!/bin/sh
${findReal('git')}${refuse(paths, 'publish', 'history')}
verb= sub= value= alias= before=0
for word do
  if [ "$verb" ]; then
    case $word in -*) continue ;; esac
    sub=$word
    break
  fi
  if [ "$value" ]; then
    case "$value $word" in '-c alias.'*=*) alias=$word ;; esac
    value=
  else
    case $word in
      -C | -c | --git-dir | --work-tree | --namespace | --super-prefix | --config-env | --attr-source) value=$word ;;
      -*) ;;
      *)
        verb=$word
        continue
        ;;
    esac
  fi
  before=$((before + 1))
done
case $alias in
  "alias.$verb="*)
    alias=\${alias#*=}
    alias="\${alias#!git } "
    verb=\${alias%% *}
    alias=\${alias#* }
    [ -z "$alias" ] || sub=\${alias%% *}
    ;;
esac

case "$verb $sub" in
  'push '* | 'send-pack '* | 'request-pull '* | 'send-email '* | 'lfs push' | 'subtree push') kind=publish ;;
  'filter-branch '* | 'filter-repo '* | 'update-ref '* | 'replace '*) kind=history ;;
  'remote add' | 'remote rename' | 'remote remove' | 'remote rm' | 'remote set-'*) kind=history ;;
  *) exec "$real" "$@" ;;
esac

ours=$(unset GIT_DIR GIT_COMMON_DIR; "$real" -C ${quoted(paths.workspace)} rev-parse --path-format=absolute --git-common-dir 2>/dev/null)
theirs=$(
  words=$#
  for word do
    [ "$before" -eq 0 ] && break
    set -- "$@" "$word"
    before=$((before - 1))
  done
  shift "$words"
  "$real" "$@" rev-parse --path-format=absolute --git-common-dir 2>/dev/null
)
case $theirs/ in
  "\${ours:-none}"/*) refuse "$kind" git "$@" ;;
  / | ${paths.ownRoots.map((root) => `${quoted(root)}/*`).join(' | ')}) exec "$real" "$@" ;;
esac
refuse "$kind" git "$@"
`;

/** Of a package that is started by its name; a loop that is installed in the project comes before ours in the PATH of npx. */
const npx = (paths: Paths): string => `#!/bin/sh
${findReal('npx')}${refuse(paths, 'loop')}
value=
for word do
  if [ "$value" ]; then
    value=
    continue
  fi
  case $word in
    -p | --package | -c | --call | -w | --workspace) value=$word ;;
    -*) ;;
    forge-loop | forge-loop@*) refuse loop npx "$@" ;;
    *) break ;;
  esac
done
exec "$real" "$@"
`;
